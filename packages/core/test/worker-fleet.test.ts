import { durable, type Storage } from "@durable/core";
import { countingStorage, faultyStorage, type StorageCounts } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, noticingLab, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { bare, open, outputs, slow } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

const ask = durable("ask", (ctx) => ctx.suspend<string>("ok"));

/** Everything that was asked of a storage. */
const calls = ({ appends, reads, leases, releases, lists, claims, waits, notes }: StorageCounts): number =>
  appends + reads + leases + releases + lists + claims + waits + notes;

/** What an idle worker asks of its storage in ten minutes, after it has had time to become quiet. */
async function idleCalls(base: Lab, storage: Storage): Promise<number> {
  const counted = countingStorage(storage);
  open(base, [ask], { storage: counted });
  await base.world.advance(60_000);
  const before = calls(counted.counts);
  await base.world.advance(600_000);
  return calls(counted.counts) - before;
}

describe("an idle worker is quiet (due-work.3)", () => {
  it("asks twice in a minute, and waits for a notice", async () => {
    const base = noticingLab();
    // One look and one wait each 30 s.
    expect(await idleCalls(base, base.storage)).toBeLessThanOrEqual(10 * 5);
  });

  it("polls each 5 s where there are no notices", async () => {
    const base = lab();
    expect(await idleCalls(base, bare(base.storage))).toBeLessThanOrEqual(10 * 14);
    expect(await idleCalls(base, base.storage), "with claims as well").toBeLessThanOrEqual(10 * 14);
  });

  it("as often as `idleInterval` says", async () => {
    const base = lab();
    const counted = countingStorage(bare(base.storage));
    open(base, [ask], { storage: counted, idleInterval: "1 minute" });
    await base.world.advance(600_000);
    expect(counted.counts.lists).toBeLessThanOrEqual(10 + 8);
  });

  it("polls at its interval again once there is work", async () => {
    const base = lab();
    const { flow } = slow(base.world, 20_000);
    const counted = countingStorage(bare(base.storage));
    const { until } = open(base, [flow], { storage: counted });
    await base.world.advance(600_000);
    await record(base, "r", { workflow: "slow", input: "x" });
    const before = counted.counts.lists;
    await until(1);
    expect(counted.counts.lists - before, "for the minute that the run takes").toBeGreaterThan(100);
  });

  it("does not spin when a storage announces work that is not there", async () => {
    const base = noticingLab();
    expect(await idleCalls(base, { ...bare(base.storage), whenDue: () => Promise.resolve() })).toBeLessThan(
      10 * 60 * 2 * 2.5,
    );
  });

  it("does not spin when a storage cannot announce work", async () => {
    const base = noticingLab();
    const whenDue = (): Promise<void> => Promise.reject(new Error("no connection"));
    expect(await idleCalls(base, { ...bare(base.storage), whenDue })).toBeLessThan(10 * 60 * 2 * 2.5);
  });
});

describe("a notice", () => {
  it("starts the run at once: one claim, one lease, one read", async () => {
    const base = noticingLab();
    const token = tokenOf(await base.world.run(ask.with(base).run(undefined, { id: "r" })));
    const counted = countingStorage(base.storage);
    const { app, heard, until } = open(base, [ask], { storage: counted });
    await base.world.advance(600_007);
    const before = { ...counted.counts };
    const from = base.world.now();
    await app.resume(token, "yes", { drive: false });
    await until(1);
    expect(outputs(heard)).toEqual(["yes"]);
    expect(base.world.now() - from, "no timer fired in between").toBe(0);
    const { claims, leases, lists } = counted.counts;
    expect([claims - before.claims, leases - before.leases, lists - before.lists]).toEqual([1, 1, 0]);
  });

  it("comes for timers as well, at their time", async () => {
    const base = noticingLab();
    const flow = durable("nap", async (ctx) => {
      const from = ctx.now();
      await ctx.sleep("3 days");
      return ctx.now() - from;
    });
    const { app, heard, until } = open(base, [flow]);
    await app.start("nap", undefined, { drive: false });
    await until(2);
    expect(outputs(heard.slice(1))).toEqual([3 * 86_400_000]);
  });

  it("that is lost delays a run to the next look (due-work.2)", async () => {
    const base = noticingLab();
    const deaf: Storage = {
      ...bare(base.storage),
      whenDue: (_workflow, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve());
        }),
    };
    const { flow } = slow(base.world, 0);
    const { until } = open(base, [flow], { storage: deaf });
    await base.world.advance(600_000);
    const from = base.world.now();
    await record(base, "r", { workflow: "slow", input: "x" });
    await until(1);
    expect(base.world.now() - from).toBeLessThanOrEqual(33_000);
  });

  it("that comes while the run still ends here drives it again at once", async () => {
    const base = noticingLab();
    const flow = durable("twice", async (ctx) => [await ctx.suspend("a"), await ctx.suspend("b")]);
    const tokens: string[] = [];
    // The answer to the next wait comes before the worker has heard that the run is parked.
    const eager: Storage = {
      ...base.storage,
      ...bare(base.storage),
      claim: (request) => (base.storage.claim as NonNullable<Storage["claim"]>)(request),
      append: async (request) => {
        await base.storage.append(request);
        if (request.head.status !== "suspended") return;
        const { app } = shop;
        const outcome = await app.get("r").outcome();
        if (outcome.status !== "suspended") return;
        const token = outcome.waiting[0]?.token ?? "";
        if (!tokens.includes(token)) tokens.push(token);
        await app.resume(token, tokens.length, { drive: false });
      },
    };
    await record(base, "r", { workflow: "twice" });
    const from = base.world.now();
    const shop = open(base, [flow], { storage: eager, interval: 10 });
    while ((await statuses(base.storage))["completed"] !== 1) await base.world.advance(100);
    expect(base.world.now() - from, "no claim had to end first").toBeLessThan(5_000);
  });
});

describe("claimed runs that are not driven (due-work.1)", () => {
  it("are driven elsewhere when the worker dies with them", async () => {
    const base = noticingLab();
    const { flow } = slow(base.world, 0);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const dying = faultyStorage(base.storage, {
      world: base.world,
      plan: (operation) => (operation === "claim" ? "crash-after" : null),
    });
    open(base, [flow], { storage: dying });
    await base.world.advance(10);
    const from = base.world.now();
    const { until } = open(base, [flow]);
    await until(5);
    expect(base.world.now() - from).toBeLessThanOrEqual(5_000);
    expect(await statuses(base.storage)).toEqual({ completed: 5 });
  });

  it("are never more than the worker has places", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    for (const id of numbered("r", 40)) await record(base, id, { workflow: "slow", input: id });
    const limits: [number, number][] = [];
    const { worker } = open(base, [flow], {
      concurrency: 4,
      storage: {
        ...bare(base.storage),
        claim: (request) => {
          limits.push([request.limit, worker.active]);
          return base.storage.claim?.(request) ?? Promise.resolve([]);
        },
      },
    });
    await base.world.advance(60_000);
    expect(limits.filter(([limit, active]) => limit + active > 4)).toEqual([]);
    expect(await statuses(base.storage)).toEqual({ completed: 40 });
  });
});
