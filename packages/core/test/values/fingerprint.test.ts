import { describe, expect, it } from "vitest";
import { encode } from "../../src/values/codec/encode.ts";
import { fingerprint, fingerprintOf } from "../../src/values/codec/fingerprint.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { Chance, ValueMaker } from "../support/codec-values.ts";
import { codeOf } from "../support/codec-failure.ts";

const where = "declared input of a test";
const of = (value: unknown): string => fingerprint(value, where);
const bare = (fields: object): object => Object.assign(Object.create(null) as object, fields);

/** The same fields in the opposite order, all the way down. */
function reversed(json: Json): Json {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(reversed);
  return Object.fromEntries(
    Object.entries(json)
      .toReversed()
      .map(([key, value]) => [key, reversed(value)]),
  );
}

describe("fingerprint", () => {
  it("is 16 base32 characters, equal for equal values, and pinned", () => {
    expect(of({ a: 1 })).toMatch(/^[a-z2-7]{16}$/);
    expect(of({ a: 1, list: [new Date(5)] })).toBe(of({ a: 1, list: [new Date(5)] }));
    // Journals hold fingerprints: another value here stops every run that waits with a declared input.
    expect([of(null), of({ a: [1, "x"] }), of(undefined)]).toMatchInlineSnapshot(`
      [
        "xcxtuj525yf6y6g7",
        "wszirseq7c5gxt4y",
        "3bmndjkuf7trvunf",
      ]
    `);
  });

  it("does not depend on the order of fields, at any depth", () => {
    expect(of({ a: 1, b: { c: 2, d: 3 } })).toBe(of({ b: { d: 3, c: 2 }, a: 1 }));
    expect(of({ 10: 1, 9: 2, x: 3 })).toBe(of({ x: 3, 9: 2, 10: 1 }));
    expect(of([{ a: 1, b: 2 }])).toBe(of([{ b: 2, a: 1 }]));
    expect(of(new Map([["k", { a: 1, b: 2 }]]))).toBe(of(new Map([["k", { b: 2, a: 1 }]])));
  });

  it("nor for objects without a prototype, or with a $ of their own", () => {
    expect(of(bare({ a: 1, b: 2 }))).toBe(of(bare({ b: 2, a: 1 })));
    expect(of({ $: 1, b: 2 })).toBe(of({ b: 2, $: 1 }));
  });

  it("nor where fields share a part, or hold each other", () => {
    const part = { x: 1 };
    expect(of({ a: part, b: part })).toBe(of({ b: part, a: part }));
    const one: Record<string, unknown> = { n: 1 };
    one["self"] = one;
    const two: Record<string, unknown> = {};
    two["self"] = two;
    two["n"] = 1;
    expect(of(one)).toBe(of(two));
  });

  it("of a record is that of its value, whatever the order in the record", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const value = new ValueMaker(new Chance(seed)).value();
      const json = encode(value, where);
      expect(fingerprintOf(JSON.parse(JSON.stringify(json)) as Json), `seed ${seed}`).toBe(of(value));
    }
    const json = encode({ a: { b: 1, c: [{ d: 1, e: 2 }] }, f: "x" }, where);
    expect(fingerprintOf(reversed(json))).toBe(fingerprintOf(json));
  });

  it("differs for values that differ", () => {
    const values = [
      undefined,
      null,
      0,
      -0,
      "0",
      0n,
      false,
      "",
      Number.NaN,
      "NaN",
      [],
      {},
      bare({}),
      new Map(),
      new Set(),
      [undefined],
      [null],
      Array.from({ length: 2 }),
      new Array(2),
      { a: undefined },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      { ab: 12 },
      [1, 2],
      [2, 1],
      [[1], 2],
      [1, [2]],
      new Set([1, 2]),
      new Set([2, 1]),
      new Map([[1, 2]]),
      new Date(0),
      new Date(Number.NaN),
      new Date(0).toISOString(),
      Uint8Array.of(1),
      Int8Array.of(1),
      Buffer.from([1]),
      "AQ==",
      /a/,
      /a/g,
      "\ud800",
      "\ud801",
      "\ufffd",
      { $: "date", v: 0 },
    ];
    expect(new Set(values.map(of)).size).toBe(values.length);
  });

  it("H50 refuses what cannot be kept, by path", () => {
    expect(codeOf(() => of({ tools: [() => 1] }))).toBe("not-serializable");
  });
});
