import { MemoryBucket } from "@durable/core/remote";
import { describe, expect, inject, test } from "vitest";
import { careless, fuzzRun } from "./support/fuzz.ts";

const seeds = inject("full") ? 40 : 16;

describe("H15 H21 four drivers on one run, with deaths and lost replies", () => {
  test("what any of them saw is what the journal says", async () => {
    const results = await Promise.all(
      Array.from({ length: seeds }, (_, n) => fuzzRun(new MemoryBucket(), { seed: n + 1 })),
    );
    for (const [n, { violations }] of results.entries()) expect(violations, `seed ${n + 1}`).toEqual([]);
    const sum = (pick: (result: (typeof results)[number]) => number): number =>
      results.reduce((total, result) => total + pick(result), 0);
    expect(sum(({ deaths }) => deaths)).toBeGreaterThan(seeds / 2);
    expect(sum(({ faults }) => faults)).toBeGreaterThan(seeds * 7.5);
  }, 300_000);

  test("a store that ignores conditions is caught", async () => {
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        fuzzRun(careless(new MemoryBucket()), { seed: n + 1, patienceMs: 1_500 }),
      ),
    );
    expect(results.filter(({ violations }) => violations.length > 0).length).toBeGreaterThan(3);
  }, 300_000);
});
