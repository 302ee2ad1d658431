import * as zlib from "node:zlib";
import { expect, test } from "vitest";
import { crc32 } from "../../../src/adapters/sqlite/sums.ts";

const texts = [
  "",
  "a",
  "\0\x7f",
  "é",
  "a€\u{1F600}",
  "\uD800",
  "ab".repeat(2_048),
  "x".repeat(4_097),
  "ü".repeat(5_000),
];

test.each(texts.map((text, n) => [n, text] as const))("the sum of text %i is that of zlib", (_, text) => {
  for (const start of [0, 1, 0xff_ff_ff_ff, 0x12_34_56_78])
    expect(crc32(text, start)).toBe(zlib.crc32(text, start));
});

test("sums of parts are the sum of the whole", () => {
  expect(crc32("defg", crc32("abc"))).toBe(zlib.crc32("abcdefg"));
});

test("sums are the same once so much was summed that the module does it", () => {
  const long = "x".repeat(70_000);
  expect(crc32(long)).toBe(zlib.crc32(long));
  for (const text of texts) expect(crc32(text, 7)).toBe(zlib.crc32(text, 7));
});
