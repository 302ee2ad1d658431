import { describe, expect, inject, it, test } from "vitest";
import { decode } from "../../src/values/codec/decode.ts";
import { encode } from "../../src/values/codec/encode.ts";
import { mayBePacked } from "../../src/journal/pack.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { limits } from "../../src/values/limits.ts";
import { Chance, difference, ValueMaker } from "../support/codec-values.ts";
import { Blobs, comesBack, prose, randomJson } from "../support/blobs-pack.ts";

const chance = new Chance(11);
const words = (count: number): string[] => Array.from({ length: count }, () => prose(chance, 20));
const filled = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

const full = inject("full");
const seeds = full ? 700 : 50;
/** How many parts an odd value has: a fifth of them in `npm test`. */
const some = (count: number): number => (full ? count : count / 5);

describe("pack.2 what was packed comes back", () => {
  test(`${seeds} random values, many of them cut into blobs`, () => {
    const wrong: number[] = [];
    let cut = 0;
    for (let seed = 1; seed <= seeds; seed++) {
      const value = randomJson(new Chance(seed));
      const blobs = new Blobs();
      if (!comesBack(value, blobs)) wrong.push(seed);
      if (blobs.texts.size > 0) cut += 1;
    }
    expect(wrong).toEqual([]);
    expect(cut).toBeGreaterThan((seeds * 2) / 7);
  });

  test("values that share one place with others, whatever they have in common", () => {
    const blobs = new Blobs();
    const values = filled(150, (i) => randomJson(new Chance(5_000 + (i % 50))));
    const texts = values.map((value) => blobs.pack(value).text);
    const back = texts.map((text) => JSON.stringify(blobs.unpack(text)));
    expect(back).toEqual(values.map((value) => JSON.stringify(value)));
    // Equal values are packed alike.
    expect(texts.slice(50, 100)).toEqual(texts.slice(0, 50));
  });

  test("what the codec writes: with padding, so that it is cut, and with tags as keys", () => {
    const wrong: (string | null)[] = [];
    for (let seed = 1; seed <= (full ? 60 : 5); seed++) {
      const made = new ValueMaker(new Chance(seed));
      const value = filled(40, (i) => [made.value(), i, { $: "@x", v: "*", "+": prose(chance, 300) }]);
      const blobs = new Blobs();
      const back = decode(blobs.unpack(blobs.pack(encode(value, "value")).text), "value");
      expect(blobs.texts.size).toBeGreaterThan(0);
      const found = difference(value, back);
      if (found !== null) wrong.push(found);
    }
    expect(wrong).toEqual([]);
  });

  it.each<[string, Json]>([
    ["an empty list", []],
    ["an empty object", {}],
    ["a text at the length up to which it is whole", "x".repeat(16_384)],
    ["a text one longer", "x".repeat(16_385)],
    ["a text of one character that never ends a piece", "\u0000".repeat(200_000)],
    ["a text of halves of surrogate pairs", "\ud800".repeat(60_000)],
    ["a text of whole pairs, so that cuts fall between halves", "𝄞".repeat(60_000)],
    ["a text that reads like a packed one", `{"$":"@x"}`.repeat(5_000)],
    ["an own field named __proto__", JSON.parse(`{"__proto__":"${"x".repeat(9_000)}","a":1}`) as Json],
    ["fields with numbers as names", Object.fromEntries(filled(3_000, (i) => [3_000 - i, i]))],
    ["a sparse list", { $: "sparse", n: 1e6, v: filled(5_000, (i) => [i * 7, "x"]) }],
    ["a list of lists of lists", filled(60, () => filled(60, () => filled(6, (i) => i)))],
    ["text in text in text", { a: { b: { c: prose(chance, 50_000) } } }],
  ])("%s", (_, value) => {
    expect(comesBack(value)).toBe(true);
  });
});

describe("H71 odd values cost no more than others", () => {
  /** Blobs there may be for a length: one every 400 characters at the most, and a few. */
  const reasonable = (length: number): number => length / 400 + 20;

  it.each<[string, () => Json]>([
    ["100,000 tiny items", () => words(some(100_000))],
    ["100,000 equal items", () => filled(some(100_000), () => "the same item")],
    ["100,000 numbers", () => filled(some(100_000), (i) => i)],
    ["300,000 zeros", () => filled(some(300_000), () => 0)],
    ["items just under 1 KiB", () => filled(some(3_000), () => prose(chance, 1_020))],
    ["items just over 1 KiB", () => filled(some(3_000), () => prose(chance, 1_030))],
    [
      "an object of 50,000 fields",
      () => Object.fromEntries(words(some(50_000)).map((word, i) => [word + i, i])),
    ],
    [
      "a growing table of rows",
      () => filled(some(20_000), (i) => ({ id: i, at: i * 1_000, name: `row ${i}` })),
    ],
    ["a text of 4 MiB", () => prose(chance, some(5 * 2 ** 20))],
    ["a text of one character", () => "x".repeat(some(5 * 2 ** 20))],
    ["a text of two in turn", () => "ab".repeat(some(5 * 2 ** 19))],
  ])("%s", (_, make) => {
    const value = make();
    const blobs = new Blobs();
    const { text, freshLength } = blobs.pack(value);
    const length = JSON.stringify(value).length;
    expect(JSON.stringify(blobs.unpack(text)) === JSON.stringify(value)).toBe(true);
    expect(blobs.texts.size).toBeLessThan(reasonable(length));
    expect(text.length + freshLength).toBeLessThan(length * 1.15);
    // What stands in the batch stays small, whatever the value's size.
    expect(text.length).toBeLessThan(6_000);
  });

  test("equal parts of one value are kept once", () => {
    const blobs = new Blobs();
    const row = { id: 7, text: prose(chance, 2_000) };
    blobs.pack(filled(some(5_000), () => row));
    expect([...blobs.texts.values()].reduce((sum, text) => sum + text.length, 0)).toBeLessThan(12_000);
  });

  test("a text of megabytes, and a list, are cut into some thousands of parts", () => {
    const blobs = new Blobs();
    const numbers = filled(full ? 1_700_000 : 120_000, () => chance.below(2 ** 31));
    const text = numbers.map((number) => number.toString(36)).join(" ");
    for (const value of [text, numbers]) {
      const packed = blobs.pack(value);
      expect(JSON.stringify(blobs.unpack(packed.text)) === JSON.stringify(value)).toBe(true);
      expect(packed.named.size).toBeGreaterThan(500);
      expect(packed.named.size).toBeLessThan(10_000);
      expect(packed.text.length).toBeLessThan(20_000);
    }
  });

  test("values as deep as they may be, and wide at every level: no limit of the stack is near", () => {
    const deep = (width: number, wrap: (list: Json[]) => Json): Json => {
      let value: Json = "core";
      for (let i = 0; i < limits.valueDepth; i++) {
        const list: Json[] = words(width);
        list.splice(width / 2, 0, value);
        value = wrap(list);
      }
      return value;
    };
    expect(comesBack(deep(some(300), (list) => list))).toBe(true);
    expect(comesBack(deep(40, (list) => ({ a: list, b: prose(chance, 1_200) })))).toBe(true);
    const fields = (list: Json[]): Json => Object.fromEntries(list.map((item, i) => [`f${i}`, item]));
    expect(comesBack(deep(some(300), fields))).toBe(true);
  });
});

describe("pack.3 a quick look tells what may be packed", () => {
  test("everything that was cut is noticed; texts of users that only look like it are not", () => {
    for (let seed = 1; seed <= some(150); seed++) {
      const { text, named } = new Blobs().pack(randomJson(new Chance(seed)));
      expect(mayBePacked(text)).toBe(named.size > 0 || text.includes('{"$":"='));
    }
    const like = ['{"$":"@x"}', '{"$":"*x"}', '{"$":"+"}', '{"$":"="}'];
    expect(mayBePacked(JSON.stringify(encode([...like, { $: "@x" }], "value")))).toBe(false);
  });
});
