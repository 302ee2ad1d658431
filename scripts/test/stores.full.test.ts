/** A small share of `npm run soak:remote`, on the real stores. */
import { expect, test } from "vitest";
import { careless, fuzzRun } from "../../packages/core/test/adapters/remote/support/fuzz.ts";
import { stores, type Store } from "../lib/stores.ts";

const size = 8;

/** As many runs as the sample has, and more while none of them is what is looked for: real time decides about that. */
async function runsUntil<T>(run: (seed: number) => Promise<T>, isOne: (result: T) => boolean): Promise<T[]> {
  const results: T[] = [];
  while (results.length === 0 || (!results.some(isOne) && results.length < 40)) {
    const seeds = Array.from({ length: size }, (_, n) => results.length + n + 1);
    results.push(...(await Promise.all(seeds.map(run))));
  }
  return results;
}

test.concurrent.each(["r2", "s3"])(
  `H15 H21 four drivers on a run in %s, with deaths and lost replies: no violation, and a careless store is caught`,
  { timeout: 300_000 },
  async (name) => {
    const store = (await stores[name]?.()) as Store;
    try {
      const results = await runsUntil(
        (seed) => fuzzRun(store.open(`run ${seed}/`), { seed, patienceMs: 120_000 }),
        ({ deaths }) => deaths > 0,
      );
      for (const [n, { violations }] of results.entries()) expect(violations, `seed ${n + 1}`).toEqual([]);
      expect(results.some(({ deaths }) => deaths > 0)).toBe(true);
      expect(results.some(({ faults }) => faults > 0)).toBe(true);
      const control = await runsUntil(
        (seed) => fuzzRun(careless(store.open(`control ${seed}/`)), { seed, patienceMs: 5_000 }),
        ({ violations }) => violations.length > 0,
      );
      expect(control.some(({ violations }) => violations.length > 0)).toBe(true);
    } finally {
      await store.stop();
    }
  },
);
