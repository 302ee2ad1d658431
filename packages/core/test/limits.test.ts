import { describe, expect, it } from "vitest";
import { decode } from "../src/codec/decode.ts";
import { encode } from "../src/codec/encode.ts";
import type { Json } from "../src/codec/tags.ts";
import type { DurableError } from "../src/errors.ts";
import { limits } from "../src/limits.ts";
import { codeOf, failureOf, messageOf } from "./support/codec-failure.ts";

const where = 'output of step "draft" in run r-17';
const { valueBytes, valueDepth } = limits;

function nested(depth: number, wrap: (inner: unknown) => unknown = (inner) => [inner]): unknown {
  let value: unknown = "core";
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
}

describe("H71 size edges", () => {
  it.each<[string, string, number]>([
    ["one byte a character", "x", 1],
    ["two bytes", "é", 2],
    ["three bytes", "計", 3],
    ["four bytes", "𝄞", 4],
  ])("counts bytes, not characters: %s", (_, character, bytes) => {
    // The written form of a text has two quotes around it.
    const room = valueBytes - 2;
    const full = character.repeat(Math.floor(room / bytes)) + "x".repeat(room % bytes);
    expect(new TextEncoder().encode(JSON.stringify(full)).length).toBe(valueBytes);
    expect(() => encode(full.slice(0, -1), where)).not.toThrow();
    expect(() => encode(full, where)).not.toThrow();
    expect(codeOf(() => encode(`${full}x`, where))).toBe("too-large");
    expect(codeOf(() => encode(`x${full}`, where))).toBe("too-large");
  });

  it("says where, how much, and what to do, in bytes", () => {
    const error = failureOf(() => encode("計".repeat(valueBytes / 2), where)) as DurableError;
    expect(error.details).toEqual({ size: (valueBytes / 2) * 3 + 2, limit: valueBytes });
    expect(error.message).toContain('step "draft" in run r-17');
    expect(error.message).toContain(String((valueBytes / 2) * 3 + 2));
    expect(error.message.length).toBeLessThan(400);
  });

  it("takes short texts without counting", () => {
    for (const text of ["", "x", "計".repeat(1_000)]) expect(() => encode(text, where)).not.toThrow();
  });
});

describe("H52 depth edges", () => {
  const wraps: [string, (inner: unknown) => unknown][] = [
    ["lists", (inner) => [inner]],
    ["objects", (inner) => ({ a: inner })],
    ["objects without a prototype", (inner) => Object.assign(Object.create(null) as object, { a: inner })],
    ["lists with holes", (inner) => Object.assign(new Array(2), { 1: inner })],
    ["map keys", (inner) => new Map([[inner, 1]])],
    ["map values", (inner) => new Map([[1, inner]])],
    ["sets", (inner) => new Set([inner])],
    ["causes", (inner) => new Error("m", { cause: inner })],
    ["fields of errors", (inner) => Object.assign(new Error("m"), { a: inner })],
  ];

  it.each(wraps)("the deepest that is taken in can be read back: %s", (_, wrap) => {
    const text = JSON.stringify(encode(nested(valueDepth + 1, wrap), where));
    expect(() => decode(JSON.parse(text) as Json, where)).not.toThrow();
    expect(codeOf(() => encode(nested(valueDepth + 2, wrap), where))).toBe("too-deep");
    expect(codeOf(() => encode(nested(100_000, wrap), where))).toBe("too-deep");
  });

  it("says where, in a message of bounded length", () => {
    const message = messageOf(() => encode(nested(100_000), where));
    expect(message).toContain('step "draft" in run r-17');
    expect(message.length).toBeLessThan(400);
  });

  it("does not take breadth for depth", () => {
    const wide = Array.from({ length: 50_000 }, (_, i) => ({ i, list: [i] }));
    expect(decode(encode(wide, where), where)).toEqual(wide);
  });
});

it("every limit is a whole number above zero, and values fit into batches", () => {
  for (const [name, limit] of Object.entries(limits))
    expect(Number.isSafeInteger(limit) && limit > 0, `limit ${name}`).toBe(true);
  expect(limits.batchBytes).toBeGreaterThanOrEqual(limits.valueBytes);
  expect(limits.nameLength).toBeLessThan(limits.keyLength);
});
