/** What slots need beyond the conformance suite: appends that were on their way when their lease expired. */

import { expect, onTestFinished, test } from "vitest";
import { headOf, request } from "./support/head.ts";
import { openSchema } from "./support/open.ts";

// The server is that of inject("postgres").
const ttlMs = 1_000;

test.each([1, 9])(
  "an append that began under a live lease extends none that another run has counted out (%i)",
  async (many) => {
    const { open, close } = openSchema();
    onTestFinished(close);
    let now = 1_000_000;
    const storage = open({ now: () => now });
    const slots = { loan: many };
    const runs = Array.from({ length: many }, () => headOf({ flow: { slot: "a" } }));
    const other = headOf({ flow: { slot: "a" } });
    for (const run of [...runs, other]) await storage.append(request(run, 0));
    for (const { locator } of runs)
      expect(await storage.lease(locator, "one", ttlMs, slots)).toMatchObject({ starts: 1 });
    expect(await storage.lease(other.locator, "two", ttlMs, slots)).toMatchObject({ full: true });
    now += ttlMs;
    expect(await storage.lease(other.locator, "two", ttlMs, slots)).toMatchObject({ starts: 1 });
    // These statements began before the lease of the other run, and come after it.
    now -= 1;
    const lease = { owner: "one", ttlMs };
    await Promise.all(runs.map((run) => storage.append(request(run, 1, { lease }))));
    now += 1;
    expect(await storage.limits.slots()).toEqual([{ workflow: "loan", slot: "a", taken: 1, waiting: many }]);
    const again = await Promise.all(runs.map(({ locator }) => storage.lease(locator, "one", ttlMs, slots)));
    expect(again.filter((reply) => reply?.full !== true)).toHaveLength(many - 1);
  },
);
