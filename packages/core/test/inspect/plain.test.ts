import { DurableError } from "@durable/core";
import { plain } from "@durable/core/inspect";
import { expect, test } from "vitest";

test("plain gives JSON for every value that a journal holds", () => {
  const cycle: Record<string, unknown> = { a: 1 };
  cycle["self"] = cycle;
  const value = {
    date: new Date(0),
    map: new Map([["k", 1n]]),
    set: new Set([1, "x"]),
    bytes: new Uint8Array(3),
    url: new URL("https://example.org/a"),
    nan: Number.NaN,
    missing: undefined,
    list: [undefined, null],
    cycle,
  };
  expect(plain(value)).toEqual({
    date: "1970-01-01T00:00:00.000Z",
    map: [["k", "1n"]],
    set: [1, "x"],
    bytes: "[3 bytes]",
    url: "https://example.org/a",
    nan: "NaN",
    list: [null, null],
    cycle: { a: 1, self: "[cycle]" },
  });
});

test("plain keeps code, details and causes of errors, and cuts long texts", () => {
  const error = new DurableError("step-failed", "no", { cause: new Error("why"), details: { key: "pay" } });
  expect(plain(error)).toMatchObject({
    name: "DurableError",
    code: "step-failed",
    message: "no",
    details: { key: "pay" },
    cause: { name: "Error", message: "why" },
  });
  expect(plain(["x".repeat(100), [[["deep"]]]], { textLength: 10, depth: 3 })).toEqual([
    "xxxxxxxxxx... (100 characters)",
    [["[deeper]"]],
  ]);
});
