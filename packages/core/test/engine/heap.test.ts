import { seeded } from "@durable/testing";
import { expect, test } from "vitest";
import { Heap } from "../../src/engine/heap.ts";

test("items come out by rank, and those of equal rank in the order in which they went in", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed);
    const heap = new Heap<number>();
    let model: { rank: number; item: number }[] = [];
    for (let item = 0; item < 120; item++) {
      if (random.between(0, 2) > 0) {
        const rank = random.between(-5, 5);
        heap.push(rank, item);
        // `toSorted` is stable.
        model = [...model, { rank, item }].toSorted((a, b) => a.rank - b.rank);
      } else {
        expect(heap.first?.item, `seed ${seed}`).toBe(model[0]?.item);
        expect(heap.first?.rank).toBe(model[0]?.rank);
        expect(heap.pop(), `seed ${seed}`).toBe(model.shift()?.item);
      }
    }
    for (const { item } of model) expect(heap.pop(), `seed ${seed}`).toBe(item);
    expect(heap.first).toBeUndefined();
    expect(heap.pop()).toBeUndefined();
  }
});
