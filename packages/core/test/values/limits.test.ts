import { isDeepStrictEqual } from "node:util";
import { describe, expect, inject, it } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode, encodeThrown } from "../../src/values/codec/encode.ts";
import { fingerprint } from "../../src/values/codec/fingerprint.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import type { DurableError } from "../../src/values/errors.ts";
import { limits } from "../../src/values/limits.ts";
import { codeOf, failureOf, messageOf } from "../support/codec-failure.ts";
import { Chance, ValueMaker } from "../support/codec-values.ts";

const where = 'output of step "draft" in run r-17';
const { valueBytes, valueDepth } = limits;
/** The edges are those of the real limit in `npm run test:full`, and of a smaller one here. */
const full = inject("full");
const mostBytes = full ? valueBytes : 2 ** 20;
/** How many items there are of what takes long to make or to write: a tenth of them here. */
const some = (count: number): number => (full ? count : Math.ceil(count / 10));

const bufferOf = (value: unknown): ArrayBuffer =>
  value instanceof ArrayBuffer ? value : (value as Uint8Array<ArrayBuffer>).buffer;

/** What the limit counts: the written text, but bytes as they are and not as base64, and at least 64 of them. */
function sizeOf(value: unknown): number {
  const json = encode(value, where);
  const written = (part: Json): number => new TextEncoder().encode(JSON.stringify(part)).length;
  let size = written(json);
  const visit = (part: Json): void => {
    if (part === null || typeof part !== "object") return;
    if ("$" in part && part["$"] === "bytes")
      size -= written(part) - Math.max(64, atob(part["v"] as string).length);
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(json);
  return size;
}

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
    const room = mostBytes - 2;
    const whole = character.repeat(Math.floor(room / bytes)) + "x".repeat(room % bytes);
    expect(new TextEncoder().encode(JSON.stringify(whole)).length).toBe(mostBytes);
    expect(() => encode(whole.slice(0, -1), where, mostBytes)).not.toThrow();
    expect(() => encode(whole, where, mostBytes)).not.toThrow();
    expect(codeOf(() => encode(`${whole}x`, where, mostBytes))).toBe("too-large");
    expect(codeOf(() => encode(`x${whole}`, where, mostBytes))).toBe("too-large");
  });

  it("says where, how much, and what to do, in bytes", () => {
    const error = failureOf(() => encode("計".repeat(valueBytes / 2), where)) as DurableError;
    expect(error.details).toEqual({ size: (valueBytes / 2) * 3 + 2, limit: valueBytes });
    expect(error.message).toContain('step "draft" in run r-17');
    expect(error.message).toContain(String((valueBytes / 2) * 3 + 2));
    expect(error.message.length).toBeLessThan(400);
  });

  it.each<[string, () => unknown]>([
    ["numbers", () => Array.from({ length: some(200_000) }, (_, i) => i)],
    ["long numbers", () => Array.from({ length: some(50_000) }, (_, i) => -(i + 0.1) * 1e-300)],
    [
      "fields",
      () => Object.fromEntries(Array.from({ length: some(20_000) }, (_, i) => [`field ${i}`, null])),
    ],
    ["escapes", () => "\u0000".repeat(some(1_000_000))],
    ["halves of surrogate pairs", () => "\ud800".repeat(some(500_000))],
    ["bytes", () => new Uint8Array(some(24_000_000) + 1)],
    ["many short bytes", () => Array.from({ length: some(10_000) }, (_, i) => new Uint8Array(i % 130))],
    ["a Map", () => new Map(Array.from({ length: some(50_000) }, (_, i) => [i, `${i}`]))],
    ["a Set", () => new Set(Array.from({ length: some(50_000) }, (_, i) => -i))],
    [
      "dates and the like",
      () => Array.from({ length: some(20_000) }, (_, i) => [new Date(i), undefined, 5n]),
    ],
    [
      "errors",
      () => Array.from({ length: some(1_000) }, () => new Error("m", { cause: new TypeError("n") })),
    ],
    ["a list with holes", () => Object.assign(new Array(6_000_000), { 5_000_000: 5 })],
  ])("one byte below, at, and over the limit, beside %s", (_, make) => {
    const value = make();
    const limit = sizeOf([value, "xxx"]);
    expect(() => encode([value, "xx"], where, limit)).not.toThrow();
    expect(() => encode([value, "xxx"], where, limit)).not.toThrow();
    expect(failureOf(() => encode([value, "xxxx"], where, limit))).toMatchObject({
      code: "too-large",
      details: { size: limit + 1, limit },
    });
  });

  it.each<[string, (length: number) => unknown]>([
    ["a Uint8Array", (length) => new Uint8Array(length)],
    ["a Buffer", (length) => Buffer.alloc(length, 255)],
    ["an ArrayBuffer", (length) => new ArrayBuffer(length)],
    ["a DataView", (length) => new DataView(new ArrayBuffer(length))],
  ])("bytes count as they are, not as base64: %s", (_, make) => {
    const back = new Uint8Array(bufferOf(decode(encode(make(mostBytes), where, mostBytes), where)));
    expect(Buffer.compare(back, new Uint8Array(bufferOf(make(mostBytes))))).toBe(0);
    expect(() => encode(make(mostBytes - 1), where, mostBytes)).not.toThrow();
    expect(failureOf(() => encode(make(mostBytes + 1), where, mostBytes))).toMatchObject({
      code: "too-large",
      details: { size: mostBytes + 1, limit: mostBytes },
    });
  });

  it("bytes and text in one value share the limit", () => {
    const half = mostBytes / 2;
    // The rest is {"bytes":,"text":""}.
    const make = (extra: number): unknown => ({
      bytes: new Uint8Array(half),
      text: "x".repeat(half - 20 + extra),
    });
    expect(() => encode(make(-1), where, mostBytes)).not.toThrow();
    expect(() => encode(make(0), where, mostBytes)).not.toThrow();
    expect(failureOf(() => encode(make(1), where, mostBytes))).toMatchObject({
      code: "too-large",
      details: { size: mostBytes + 1, limit: mostBytes },
    });
    const shared = new Uint8Array(mostBytes - 100);
    expect(() => encode([shared, shared], where, mostBytes)).not.toThrow();
    expect(codeOf(() => encode([shared, shared.slice()], where, mostBytes))).toBe("too-large");
  });

  it("a great many short bytes do not make an endless text", () => {
    const most = (length: number): number => {
      const list = Array.from({ length: some(10_000) }, () => new BigUint64Array(length));
      return JSON.stringify(encode(list, where)).length / sizeOf(list);
    };
    for (const length of [0, 1, 7, 8, 9, 100]) expect(most(length)).toBeLessThan(2.2);
  });

  it("thousands of random values are measured to the byte, counted or not", () => {
    const wrong: unknown[] = [];
    for (let seed = 1; seed <= some(2_000); seed++) {
      const value = new ValueMaker(new Chance(seed)).value();
      const size = sizeOf(value);
      const outcomes = [size + 1, size, size - 1, 1].map((limit) => {
        try {
          return typeof encode(value, where, limit);
        } catch (error) {
          return (error as DurableError).code;
        }
      });
      const fits = typeof encode(value, where);
      const expected = [fits, fits, "too-large", size === 1 ? fits : "too-large"];
      if (JSON.stringify(outcomes) !== JSON.stringify(expected)) wrong.push([seed, size, outcomes]);
    }
    expect(wrong).toEqual([]);
  });

  const twoGiB = 2 ** 31;
  const longest = 2 ** 29 - 24;
  const huge: [string, () => unknown, number][] = [
    ["the longest text", () => "x".repeat(longest), longest],
    ["two bytes a character", () => "é".repeat(300_000_000), 300_000_000],
    ["a key", () => ({ ["x".repeat(longest)]: 1 }), longest],
    ["the message of an error", () => new Error("x".repeat(100_000_000)), 100_000_000],
    ["2 GiB of bytes", () => new Uint8Array(twoGiB), twoGiB],
    ["a view of 2 GiB", () => ({ deep: [new Float64Array(twoGiB / 8)] }), twoGiB],
    ["a buffer of 2 GiB", () => new ArrayBuffer(twoGiB), twoGiB],
    ["one text a thousand times", () => new Array(1_000).fill("x".repeat(valueBytes / 100)), valueBytes],
    ["a long list", () => new Array(30_000_000).fill(0), valueBytes],
    ["a long list in another", () => ({ rows: [new Array(17_000_000).fill(0)] }), valueBytes],
  ];
  // The rest of them in `npm run test:full`.
  it.each(full ? huge : huge.filter((_, n) => n % 3 === 0))(
    "huge: %s is `too-large` at once, without a copy",
    (_, make, least) => {
      const value = make();
      const before = process.memoryUsage();
      const started = process.threadCpuUsage();
      const error = failureOf(() => encode(value, where)) as DurableError;
      const after = process.memoryUsage();
      expect(error.code).toBe("too-large");
      expect(error.message).toMatch(
        /^The output of step "draft" in run r-17 takes (at least )?\d+ bytes; the limit is 33554432/,
      );
      expect(error.details).toMatchObject({ limit: valueBytes });
      expect(error.details["size"]).toBeGreaterThanOrEqual(least);
      expect(process.threadCpuUsage(started).user).toBeLessThan(10_000_000);
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(300e6);
    },
  );

  it("a Map or Set with too many items is refused before one of them is read", () => {
    let reads = 0;
    const item = (): object => ({
      get read(): number {
        return ++reads;
      },
    });
    const items = Array.from({ length: 300 }, item);
    expect(codeOf(() => encode(new Map(items.map((one) => [one, one])), where, 1_000))).toBe("too-large");
    expect(codeOf(() => encode(new Set(items), where, 300))).toBe("too-large");
    expect(reads).toBe(0);
  });

  it("huge: a BigInt of 2^29 bits is refused in seconds", () => {
    const started = process.threadCpuUsage();
    expect(codeOf(() => encode(1n << 536_870_912n, where))).toBe("not-serializable");
    expect(process.threadCpuUsage(started).user).toBeLessThan(10_000_000);
  });

  it("huge: what is thrown is recorded all the same", () => {
    for (const thrown of ["x".repeat(longest), new Uint8Array(twoGiB), new Error("x".repeat(100_000_000))]) {
      const text = JSON.stringify(encodeThrown(thrown, where));
      expect(text.length).toBeLessThan(100_000);
      expect(() => decode(JSON.parse(text) as Json, where)).not.toThrow();
    }
  });

  it("huge: a declared input is refused like any other value", () => {
    expect(codeOf(() => fingerprint(["x".repeat(longest)], where))).toBe("too-large");
    expect(codeOf(() => fingerprint(new Uint8Array(twoGiB), where))).toBe("too-large");
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
    // Errors take long to make.
    const deep = full || !(wrap(1) instanceof Error) ? 100_000 : 10_000;
    expect(codeOf(() => encode(nested(deep, wrap), where))).toBe("too-deep");
  });

  it("says where, in a message of bounded length", () => {
    const message = messageOf(() => encode(nested(100_000), where));
    expect(message).toContain('step "draft" in run r-17');
    expect(message.length).toBeLessThan(400);
  });

  it("does not take breadth for depth", () => {
    const wide = Array.from({ length: 50_000 }, (_, i) => ({ i, list: [i] }));
    expect(isDeepStrictEqual(decode(encode(wide, where), where), wide)).toBe(true);
  });
});

it("every limit is a whole number above zero", () => {
  for (const [name, limit] of Object.entries(limits))
    expect(Number.isSafeInteger(limit) && limit > 0, `limit ${name}`).toBe(true);
  expect(limits.nameLength).toBeLessThan(limits.keyLength);
});
