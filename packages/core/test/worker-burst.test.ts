import { durable, type Storage } from "@durable/core";
import { countingStorage, faultyStorage } from "@durable/testing";
import { describe, expect, inject, it } from "vitest";
import { lab, noticingLab, pause, sqliteLab, type Lab } from "./support/behaviour-lab.ts";
import { bare, open } from "./support/worker-lab.ts";
import { numbered, record } from "./support/worker-runs.ts";

/** A storage that others can ask between a request and its reply. */
function slowly({ world }: Lab, storage: Storage): Storage {
  return faultyStorage(storage, { world, latency: () => 1 + 9 * world.random() });
}

/** All runs of a workflow that sleeps are due in the same millisecond, and a fleet of workers is there. */
async function burst(base: Lab, storage: Storage, { runs, workers }: { runs: number; workers: number }) {
  const flow = durable("nap", async (ctx) => {
    await ctx.sleep("1 hour");
    await ctx.step("work", () => pause(base.world, 1_000));
  });
  const counted = countingStorage(storage);
  let lost = 0;
  const watched: Storage = {
    ...counted,
    lease: async (...request) => {
      const lease = await counted.lease(...request);
      if (lease === null) lost += 1;
      return lease;
    },
  };
  await Promise.all(numbered("r", runs).map((id) => record(base, id, { workflow: "nap" })));
  const from = base.world.now();
  const first = open(base, [flow], { concurrency: 100 });
  await first.until(runs);
  await base.world.run(first.worker.stop());
  const shops = Array.from({ length: workers }, () =>
    open(base, [flow], { storage: watched, concurrency: places }),
  );
  await base.world.advance(3_600_000 - 1_000 - (base.world.now() - from));
  const { leases, claims, lists } = counted.counts;
  expect(leases, "nothing is due yet").toBe(0);
  const done = (): number =>
    shops.flatMap(({ heard }) => heard).filter(({ status }) => status === "completed").length;
  while (done() < runs) await base.world.advance(1_000);
  const after = counted.counts;
  return {
    leases: after.leases - leases,
    lost,
    looks: after.claims - claims + after.lists - lists,
    shares: shops.map(({ heard }) => heard.length),
  };
}

const full = inject("full");
const most = full ? 2_000 : 200;
const workers = 5;
const places = 20;

describe(`${most} timers that are due at once, and ${workers} workers: the work grows with the runs, not with the workers`, () => {
  const labs = { "memory, with notices": noticingLab, "memory, polled": lab, sqlite: sqliteLab };
  it.each(Object.entries(labs))("%s", { timeout: 300_000 }, async (name, make) => {
    // A file takes claims one by one, so that fewer runs would not be enough for all workers.
    const runs = Math.max(most, name === "sqlite" && !full ? 600 : 0);
    const base = make();
    const { leases, lost, looks, shares } = await burst(
      base,
      name.includes("polled") ? slowly(base, base.storage) : base.storage,
      { runs, workers },
    );
    expect(leases / runs, "leases for each drive").toBeLessThanOrEqual(1.2);
    expect(lost / runs).toBeLessThanOrEqual(0.02);
    // Replies of a slow storage spread the ends of the runs, so that a worker seldom finds half of its places free.
    const claims = name.includes("polled") ? runs / 2 : runs / (places / 2) + workers;
    expect(looks, "one claim for several places").toBeLessThanOrEqual(claims);
    expect(Math.min(...shares), "each worker has a part").toBeGreaterThan(0);
  });

  it("without claims, workers begin with different runs", { timeout: 300_000 }, async () => {
    const base = lab();
    const few = full ? most / 2 : most;
    const { leases, looks } = await burst(base, slowly(base, bare(base.storage)), { runs: few, workers });
    expect(leases / few, "leases for each drive").toBeLessThanOrEqual(1.2);
    expect(looks / few).toBeLessThanOrEqual(0.5);
  });
});
