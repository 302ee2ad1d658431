/** Answers of MCP have a bounded size, and all of them can be read by parts. */

import type { Plain } from "@durable/core/inspect";
import { expect, test } from "vitest";
import { bounded } from "../src/mcp/bounded.ts";

const size = (value: Plain): number => JSON.stringify(value).length;

test("a value of two million characters is cut, and read to its end by a path and an offset", () => {
  const body = Array.from({ length: 225_000 }, (_, i) => `line ${i}\n`).join("");
  const answer = { key: "load", value: { body, n: 1 } };
  const first = bounded(answer, {}) as { value: { body: string; n: number } };
  expect(size(first)).toBeLessThanOrEqual(40_000);
  expect(first.value.n).toBe(1);
  expect(first.value.body).toContain(`[${body.length} characters; the rest: path "value.body", offset 8000]`);
  let read = body.slice(0, 8_000);
  for (let offset: number | null = 8_000; offset !== null;) {
    const page = bounded(answer, { path: "value.body", offset }) as { value: string; next: number | null };
    expect(size(page)).toBeLessThanOrEqual(40_000);
    read += page.value;
    offset = page.next;
  }
  expect(read).toBe(body);
});

test("a list of 20,000 rows is read by pages, rows by their paths", () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    text: "x".repeat(id === 150 ? 90_000 : 300),
  }));
  expect(size(bounded({ value: rows }, {}))).toBeLessThanOrEqual(40_000);
  const page = bounded({ value: rows }, { path: "value", offset: 100 }) as { next: number; length: number };
  expect(page).toMatchObject({ next: 200, length: 20_000 });
  expect(size(page)).toBeLessThanOrEqual(40_000);
  expect(bounded({ value: rows }, { path: "value.150.id" })).toBe(150);
});

test.each([
  ["deep", Array.from({ length: 250 }).reduce<Plain>((inner) => ({ a: inner, b: "y".repeat(400) }), 1)],
  ["wide", Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`name${i}`, i]))],
  ["lists in lists", Array.from({ length: 300 }, () => Array.from({ length: 300 }, () => "zzzzz"))],
  ["a name of a million characters", { ["n".repeat(1_000_000)]: 1 }],
])("an answer that is %s stays bounded", (_name, value) => {
  expect(size(bounded(value, {}))).toBeLessThanOrEqual(40_000);
});

test("a path that leads nowhere is said", () => {
  expect(() => bounded({ a: [1] }, { path: "a.5" })).toThrow('"5" is missing');
  expect(() => bounded({ a: [1] }, { path: "a.length" })).toThrow("nothing at");
  expect(() => bounded({ a: 1 }, { path: "a", offset: 3 })).toThrow("neither");
});
