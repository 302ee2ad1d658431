/** What values of a journal look like as JSON. */

import { DurableError } from "@durable/core";
import { toJson } from "@durable/http";
import { expect, test } from "vitest";

const cyclic: Record<string, unknown> = { name: "a" };
cyclic["self"] = cyclic;

test.each<[string, unknown, unknown]>([
  ["plain data", { a: [1, "x", true, null] }, { a: [1, "x", true, null] }],
  ["nothing", undefined, null],
  ["nothing in a list", [undefined, 1], [null, 1]],
  ["nothing in an object", { a: undefined, b: 1 }, { b: 1 }],
  ["a hole", Array.from({ length: 2 }), [null, null]],
  ["numbers JSON has not", [Number.NaN, Infinity, -0], [null, null, 0]],
  ["a bigint", 12345678901234567890n, "12345678901234567890"],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an invalid date", new Date(Number.NaN), null],
  [
    "a map",
    new Map<unknown, unknown>([
      ["a", 1],
      [{ k: 1 }, new Date(0)],
    ]),
    [
      ["a", 1],
      [{ k: 1 }, "1970-01-01T00:00:00.000Z"],
    ],
  ],
  ["a set", new Set([1, 2n]), [1, "2"]],
  ["bytes", new Uint8Array([0, 255, 16]), "AP8Q"],
  ["part of a buffer", new Uint8Array([9, 1, 2, 9]).subarray(1, 3), "AQI="],
  ["a buffer", new Uint8Array([1]).buffer, "AQ=="],
  ["an address", new URL("https://example.org/a"), "https://example.org/a"],
  ["a pattern", /a+/g, "/a+/g"],
  ["a cycle", cyclic, { name: "a", self: "[cycle]" }],
])("%s", (_what, value, json) => {
  expect(JSON.parse(JSON.stringify(toJson(value)))).toEqual(json);
});

test("an error has its name, message, code and causes, and neither stack nor details", () => {
  const error = new DurableError("suspended", "It waits.", {
    cause: new TypeError("beneath"),
    details: { waiting: [{ token: "a token" }] },
  });
  expect(toJson(error)).toEqual({
    name: "DurableError",
    message: "It waits.",
    code: "suspended",
    cause: { name: "TypeError", message: "beneath" },
  });
  expect(toJson(new AggregateError([new Error("one")], "many"))).toEqual({
    name: "AggregateError",
    message: "many",
    errors: [{ name: "Error", message: "one" }],
  });
});

test("a member that is called __proto__ stays a member", () => {
  const text = JSON.stringify(toJson(JSON.parse('{"__proto__":{"x":1},"constructor":2}')));
  expect(text).toBe('{"__proto__":{"x":1},"constructor":2}');
  expect(({} as { x?: number }).x).toBeUndefined();
});

test("a part that is met twice is written twice, and a value of very many such parts is cut", () => {
  const part = { a: 1 };
  expect(toJson([part, part])).toEqual([{ a: 1 }, { a: 1 }]);
  let doubled: unknown = [1];
  for (let i = 0; i < 40; i++) doubled = [doubled, doubled];
  expect(JSON.stringify(toJson(doubled)).length).toBeLessThan(40_000_000);
});
