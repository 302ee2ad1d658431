import { describe, expect, inject, test } from "vitest";
import type { Json } from "../../src/values/codec/tags.ts";
import { Chance } from "../support/codec-values.ts";
import { Blobs, prose } from "../support/blobs-pack.ts";

const full = inject("full");

/** What one change may bring: on each of the levels of nodes one anew, or two, and a few groups. */
const few = (parts: number): number => 6 + 3 * Math.ceil(Math.log2(parts + 1));

interface Shape {
  readonly item: (chance: Chance, i: number) => Json;
  /** Length of an item, about. */
  readonly length: number;
}

const shapes: Record<string, Shape> = {
  "tiny items": { item: (chance) => chance.below(1e9), length: 10 },
  rows: { item: (chance, i) => ({ id: i, name: prose(chance, 40) }), length: 65 },
  "items of half a KiB": { item: (chance) => prose(chance, 500), length: 520 },
  "items just under 1 KiB": { item: (chance) => prose(chance, 1_000), length: 1_020 },
  "items of 2 kB": { item: (chance) => ({ role: "user", text: prose(chance, 2_000) }), length: 2_100 },
  "items of 20 kB": { item: (chance) => ({ text: prose(chance, 20_000) }), length: 20_800 },
};

describe.each(Object.entries(shapes))("pack.1 a list of %s", (_, { item, length }) => {
  const chance = new Chance(3);
  const count = Math.min(20_000, Math.ceil((full ? 600_000 : 200_000) / length));
  const list = Array.from({ length: count }, (__, i) => item(chance, i));
  const blobs = new Blobs();
  const before = blobs.pack(list);
  const perItem = Math.ceil(length / 600) + 1;

  /** What a changed list brings over what it may bring: parts, parts that are named no more, and length. */
  const tooMuch = (changed: readonly Json[], items: number): string[] => {
    const after = blobs.pack(changed);
    const most = few(before.named.size) + items * perItem;
    const gone = [...before.named].filter((name) => !after.named.has(name));
    const written = after.freshLength + after.text.length;
    return [
      ...(JSON.stringify(blobs.unpack(after.text)) === JSON.stringify(changed) ? [] : ["it is another list"]),
      ...(after.fresh.length <= most ? [] : [`${after.fresh.length} parts are new`]),
      ...(gone.length <= most ? [] : [`${gone.length} parts are named no more`]),
      ...(written < 12_000 + items * length * 1.2 ? [] : [`${written} characters are written`]),
    ];
  };

  test("that grew by an item", () => expect(tooMuch([...list, item(chance, count)], 1)).toEqual([]));
  test("that grew at its beginning", () => expect(tooMuch([item(chance, count), ...list], 1)).toEqual([]));
  test("that lost its first item", () => expect(tooMuch(list.slice(1), 1)).toEqual([]));
  test("that lost its last item", () => expect(tooMuch(list.slice(0, -1), 1)).toEqual([]));

  test("that lost, got or changed an item anywhere", () => {
    for (let i = 0; i < (full ? 6 : 1); i++) {
      const at = chance.below(count);
      expect(tooMuch(list.toSpliced(at, 1), 1)).toEqual([]);
      expect(tooMuch(list.toSpliced(at, 0, item(chance, at)), 1)).toEqual([]);
      expect(tooMuch(list.with(at, item(chance, at)), 1)).toEqual([]);
    }
  });

  test("that was cut in two and put together the other way round", () => {
    const at = chance.below(count);
    expect(tooMuch([...list.slice(at), ...list.slice(0, at)], 4)).toEqual([]);
  });

  test("inside something else, with a counter beside it that changes each time", () => {
    const first = blobs.pack({ turn: 1, deep: { list } });
    const next = blobs.pack({ turn: 2, deep: { list } });
    expect(first.fresh.length).toBeLessThanOrEqual(2);
    expect(next.fresh.length).toBeLessThanOrEqual(1);
    expect(next.text.length).toBeLessThan(6_000);
  });
});

describe("pack.1 a text", () => {
  const chance = new Chance(4);
  const text = prose(chance, full ? 700_000 : 300_000);
  const blobs = new Blobs();
  blobs.pack(text);
  const cost = (changed: Json): number => {
    const { text: packed, freshLength } = blobs.pack(changed);
    expect(JSON.stringify(blobs.unpack(packed)) === JSON.stringify(changed)).toBe(true);
    return packed.length + freshLength;
  };

  test("that grew shares all but its end", () => {
    for (const length of [1, 10, 100, 1_000, 10_000])
      expect(cost(text + prose(chance, length))).toBeLessThan(3_500 + length * 1.15);
  });

  test("that was changed, cut or extended anywhere shares what is far from there", () => {
    const costs = Array.from({ length: full ? 20 : 6 }, (_, i) => {
      const at = chance.below(text.length);
      const rest = text.slice(at + (i % 3) * 40);
      return cost(`${text.slice(0, at)}${i % 2 === 0 ? prose(chance, 50) : ""}${rest}`);
    });
    expect(costs.reduce((sum, n) => sum + n, 0) / costs.length).toBeLessThan(8_000);
    expect(Math.max(...costs)).toBeLessThan(60_000);
  });

  test("quoted in another, or as a field, or in a list, has the pieces it has alone", () => {
    expect(cost({ text })).toBeLessThan(3_000);
    expect(cost([text, text, text])).toBeLessThan(5_000);
    expect(cost(`> ${text}`)).toBeLessThan(20_000);
  });
});

describe("pack.1 an object of many fields", () => {
  const chance = new Chance(5);
  const entries = Array.from({ length: 4_000 }, (_, i) => [`user-${i}`, prose(chance, 60)] as const);
  const blobs = new Blobs();
  blobs.pack(Object.fromEntries(entries));

  test("that got, lost or changed one shares the rest", () => {
    for (const changed of [
      [...entries, ["one-more", "x"] as const],
      entries.slice(1),
      entries.toSpliced(2_000, 1),
      entries.with(1_000, ["user-1000", "changed"]),
    ]) {
      const value = Object.fromEntries(changed);
      const after = blobs.pack(value);
      expect(JSON.stringify(blobs.unpack(after.text)) === JSON.stringify(value)).toBe(true);
      expect(after.fresh.length).toBeLessThanOrEqual(few(400));
      expect(after.freshLength + after.text.length).toBeLessThan(8_000);
    }
  });

  test("keeps the order of its fields", () => {
    const value = Object.fromEntries(entries.toReversed());
    expect(Object.keys(blobs.unpack(blobs.pack(value).text) as object)).toEqual(Object.keys(value));
  });
});
