/** A small share of `npm run soak:remote`, on the real stores. */
import { expect, inject, test } from "vitest";
import { careless, fuzzRun } from "../../packages/core/test/adapters/remote/support/fuzz.ts";
import { stores, type Store } from "../lib/stores.ts";

const size = inject("full") ? 8 : 2;

// One store here, because each is a server of its own; both in `npm run test:full`.
test.concurrent.each(inject("full") ? ["r2", "s3"] : ["s3"])(
  `H15 H21 four drivers on a run in %s, with deaths and lost replies: ${size} runs without a violation, and a careless store is caught`,
  { timeout: 300_000 },
  async (name) => {
    const store = (await stores[name]?.()) as Store;
    try {
      const seeds = Array.from({ length: size }, (_, n) => n + 1);
      const runs = seeds.map((seed) => fuzzRun(store.open(`run ${seed}/`), { seed, patienceMs: 120_000 }));
      const results = await Promise.all(runs);
      for (const [n, { violations }] of results.entries()) expect(violations, `seed ${n + 1}`).toEqual([]);
      expect(results.some(({ deaths }) => deaths > 0)).toBe(true);
      expect(results.every(({ faults }) => faults > 0)).toBe(true);
      const control = seeds.map((seed) =>
        fuzzRun(careless(store.open(`control ${seed}/`)), { seed, patienceMs: 5_000 }),
      );
      const caught = (await Promise.all(control)).filter(({ violations }) => violations.length > 0);
      expect(caught.length).toBeGreaterThan(0);
    } finally {
      await store.stop();
    }
  },
);
