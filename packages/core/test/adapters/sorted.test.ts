import { expect, it } from "vitest";
import { Sorted } from "../../src/adapters/memory/sorted.ts";
import { seeded } from "@durable/testing";

it("keeps its items as a sorted list does, over many blocks", () => {
  const random = seeded(7);
  const sorted = new Sorted<number>((a, b) => a - b);
  const items = new Set<number>();
  for (let n = 0; n < 6_000; n++) {
    const item = random.between(0, 3_000);
    if (items.has(item)) {
      items.delete(item);
      sorted.delete(item);
    } else {
      items.add(item);
      sorted.add(item);
    }
    if (n % 500 !== 0) continue;
    const wanted = [...items].toSorted((a, b) => a - b);
    expect([...sorted]).toEqual(wanted);
    expect(sorted.size).toBe(wanted.length);
    expect(sorted.first).toBe(wanted[0]);
    for (const from of [-1, 500, 1_499.5, 4_000])
      expect([...sorted.after(from)]).toEqual(wanted.filter((each) => each > from));
  }
  for (const item of items) sorted.delete(item);
  expect([...sorted], "all deleted").toEqual([]);
  sorted.delete(1);
  expect(sorted.first).toBeUndefined();
});
