import { createApp, durable } from "@durable/core";
import { countingStorage, faultyStorage } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, outputOf, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { open, outputs, slow, type Shop } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

describe("what a worker finds", () => {
  it("finds a run without a driver", async () => {
    const base = lab();
    await record(base, "r", { workflow: "slow", input: "tides" });
    const { heard, until } = open(base, [slow(base.world).flow]);
    await until(1);
    expect(outputs(heard)).toEqual([["tides a", "tides b", "tides c"]]);
  });

  it("finds a run whose driver died, once its lease has run out", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    const dying = faultyStorage(base.storage, {
      world: base.world,
      plan: (operation, index) => (operation === "append" && index === 3 ? "crash-before" : null),
    });
    const first = flow.with({ ...base, storage: dying }).run("tides", { id: "r" });
    await base.world.run(Promise.race([first, dying.died]));
    const { heard, until } = open(base, [flow]);
    await until(1);
    expect(outputs(heard)).toEqual([["tides a", "tides b", "tides c"]]);
    expect(ran).toEqual(["r a 1", "r b 1", "r b 1", "r c 1"]);
  });

  it("finds an answer that was delivered without a notification", async () => {
    const base = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"));
    const token = tokenOf(await base.world.run(flow.with(base).run(undefined, { id: "r" })));
    const { app, heard, until } = open(base, [flow]);
    await base.world.advance(60_000);
    expect(heard, "a run that waits for the outside is not touched").toEqual([]);
    await app.resume(token, "yes", { drive: false });
    await until(1);
    expect(outputs(heard)).toEqual(["yes"]);
  });

  it("finds timers when their time has come, and not before", async () => {
    const base = lab();
    const flow = durable("nap", async (ctx) => {
      const from = ctx.now();
      await ctx.sleep("3 days");
      return ctx.now() - from;
    });
    const counted = countingStorage(base.storage);
    await record(base, "r", { workflow: "nap" });
    const { heard, until } = open(base, [flow], { storage: counted, interval: "1 minute" });
    await until(2);
    expect(heard.map(({ status }) => status)).toEqual(["suspended", "completed"]);
    expect(counted.counts.leases, "one drive to the park, one to the end").toBe(2);
    const slept = Number(outputOf(heard[1]));
    expect(slept).toBeGreaterThanOrEqual(3 * 86_400_000);
    expect(slept).toBeLessThan(3 * 86_400_000 + 61_000);
  });
});

it("H39 500 runs whose time comes in one millisecond: none is early, none waits for more than its turn", async () => {
  const base = lab();
  const length = 3_600_000;
  const flow = durable("nap", async (ctx) => {
    const from = ctx.now();
    await ctx.sleep(length);
    return ctx.now() - from;
  });
  const ids = numbered("r", 500);
  for (const id of ids) await record(base, id, { workflow: "nap" });
  const counted = countingStorage(base.storage);
  const { heard, until } = open(base, [flow], { storage: counted, concurrency: 50, interval: "1 minute" });
  await until(ids.length * 2);
  const slept = heard.flatMap((outcome) => (outcome.status === "completed" ? [Number(outcome.output)] : []));
  expect(slept).toHaveLength(ids.length);
  expect(Math.min(...slept)).toBeGreaterThanOrEqual(length);
  // A run that ends frees its place at once: the next one does not wait for the next poll.
  expect(Math.max(...slept) - length).toBeLessThanOrEqual(120_000);
  expect(counted.counts.leases, "one drive to the park, one to the end").toBe(ids.length * 2);
});

describe("how many runs at a time (worker.2)", () => {
  it("drives at most `concurrency` runs", async () => {
    const base = lab();
    const { flow, seen } = slow(base.world);
    for (const id of numbered("r", 20)) await record(base, id, { workflow: "slow", input: id });
    const { worker, heard, until } = open(base, [flow], { concurrency: 3 });
    await base.world.advance(10);
    expect(worker.active).toBe(3);
    await until(20);
    expect(seen.most).toBe(3);
    expect(heard.every(({ status }) => status === "completed")).toBe(true);
    expect(worker.active).toBe(0);
  });

  it("a run that sleeps or waits takes no place", async () => {
    const base = lab();
    const flow = durable("nap", async (ctx) => {
      await ctx.sleep("1 hour");
      return "up";
    });
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "nap" });
    const from = base.world.now();
    const { until } = open(base, [flow], { concurrency: 1 });
    await until(10);
    expect(base.world.now() - from, "they slept side by side").toBeLessThan(2 * 3_600_000);
    expect(await statuses(base.storage)).toEqual({ completed: 5 });
  });
});

describe("runs that are not for this worker", () => {
  it("goes past 250 due runs of a workflow it does not know, and leaves them alone", async () => {
    const base = lab();
    for (const id of numbered("strange", 250)) await record(base, id, { workflow: "strange" });
    await record(base, "known", { workflow: "slow", input: "x" });
    const counted = countingStorage(base.storage);
    const { heard, until } = open(base, [slow(base.world).flow], { storage: counted });
    await until(1);
    await base.world.advance(600_000);
    expect(heard).toMatchObject([{ runId: "known", status: "completed" }]);
    expect(counted.counts.leases, "of the strange ones not even a lease was taken").toBe(1);
    expect(counted.counts.reads).toBe(1);
    expect(await statuses(base.storage)).toEqual({ running: 250, completed: 1 });
    expect(base.world.warnings).toEqual([]);
  });

  it("a blocked run is skipped, is warned about once a minute, and does not delay other runs", async () => {
    const base = lab();
    const before = durable("changed", async (ctx) => {
      await ctx.step("a", () => 1, { input: "old" });
      return ctx.suspend("ok");
    });
    const token = tokenOf(await base.world.run(before.with(base).run(undefined, { id: "odd" })));
    const after = durable("changed", async (ctx) => {
      await ctx.step("a", () => 1, { input: "new" });
      return ctx.suspend("ok");
    });
    const { flow } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const { app, heard, until } = open(base, [after, flow], { concurrency: 1 });
    await app.resume(token, "yes", { drive: false });
    await until(6);
    await base.world.advance(10 * 60_000);
    const blocked = heard.filter(({ status }) => status === "blocked");
    expect(blocked.length).toBeGreaterThanOrEqual(9);
    expect(blocked.length).toBeLessThanOrEqual(12);
    expect(base.world.warnings).toHaveLength(blocked.length);
    expect(base.world.warnings[0]).toMatch(/^run odd is skipped for a minute: .*"a"/);
    expect(await statuses(base.storage)).toEqual({ completed: 5, blocked: 1 });
    const right = createApp({ ...base, workflows: [before] });
    expect(outputOf(await base.world.run(right.advance("odd"))), "its journal is as it was").toBe("yes");
  });

  it("does not warn about a run that another process drives", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world, 120_000);
    const driving = flow.with(base).run("x", { id: "r" });
    const { heard } = open(base, [flow]);
    expect(outputOf(await base.world.run(driving))).toEqual(["x a", "x b", "x c"]);
    expect(heard).toEqual([]);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
    expect(base.world.warnings).toEqual([]);
  });
});
describe("what goes wrong around it", () => {
  it("outlives a storage that fails for a while, and says so", async () => {
    const base = lab();
    const { flow } = slow(base.world);
    for (const id of numbered("r", 5)) await record(base, id, { workflow: "slow", input: id });
    const heal = base.world.now() + 120_000;
    const failing = faultyStorage(base.storage, {
      world: base.world,
      plan: () => (base.world.now() > heal - 119_000 && base.world.now() < heal ? "lose-request" : null),
    });
    open(base, [flow], { storage: failing, interval: "5s" });
    await base.world.advance(400_000);
    expect(await statuses(base.storage)).toEqual({ completed: 5 });
    expect(base.world.warnings).toContainEqual(expect.stringMatching(/cannot read its storage.*claim/));
    expect(base.world.now()).toBeGreaterThan(heal);
  });

  it("a listener that throws does no harm", async () => {
    const base = lab();
    const flow = durable("hops", async (ctx) => {
      await ctx.sleep("5s");
      return "there";
    });
    await record(base, "r", { workflow: "hops" });
    const { until } = open(base, [flow], {
      onStop: () => {
        throw new Error("the log is full");
      },
    });
    const from = base.world.now();
    await until(2);
    expect(base.world.now() - from, "the run did not rest for it").toBeLessThan(10_000);
    expect(base.world.warnings).toEqual([
      expect.stringMatching(/the log is full/),
      expect.stringMatching(/the log is full/),
    ]);
  });

  it("hears how every drive stopped", async () => {
    const base = lab();
    const flow = durable("kinds", async (ctx, kind: string) => {
      if (kind === "fails") throw new Error("no");
      if (kind === "waits") await ctx.suspend("ok");
      return kind;
    });
    for (const id of ["ends", "fails", "waits"]) await record(base, id, { workflow: "kinds", input: id });
    const { heard, until } = open(base, [flow]);
    await until(3);
    expect(Object.fromEntries(heard.map(({ runId, status }) => [runId, status]))).toEqual({
      ends: "completed",
      fails: "failed",
      waits: "suspended",
    });
  });
});

describe("several workers on one storage", () => {
  it("drive each run once (H24), to what one calm worker makes of it (H57)", async () => {
    const calm = lab();
    const ids = numbered("r", 40);
    const of = async (base: Lab, workers: number): Promise<{ ran: string[]; out: unknown[] }> => {
      const { flow, ran } = slow(base.world, 700);
      for (const id of ids) await record(base, id, { workflow: "slow", input: id });
      const shops = Array.from({ length: workers }, () => open(base, [flow], { concurrency: 4 }));
      const done = async (): Promise<boolean> => (await statuses(base.storage))["completed"] === ids.length;
      while (!(await done())) await base.world.advance(1_000);
      const { app, heard } = shops[0] as Shop;
      expect(workers > 1 || heard.length === ids.length).toBe(true);
      const ends = await Promise.all(ids.map((id) => app.get(id).outcome()));
      return { ran: ran.toSorted(), out: ends.map(outputOf) };
    };
    const expected = await of(calm, 1);
    const found = await of(lab(2), 4);
    expect(found).toEqual(expected);
    expect(found.ran).toHaveLength(ids.length * 3);
  });

  it("one run and 16 workers at the same instant: one body each, few operations (H25)", async () => {
    const base = lab();
    const { flow, ran } = slow(base.world);
    await record(base, "r", { workflow: "slow", input: "x" });
    const counted = countingStorage(base.storage);
    const shops = Array.from({ length: 16 }, () => open(base, [flow], { storage: counted }));
    await base.world.advance(10_000);
    expect(ran).toEqual(["r a 1", "r b 1", "r c 1"]);
    expect(counted.counts.leases, "each asks once, and is refused or drives").toBeLessThanOrEqual(16);
    expect(shops.flatMap(({ heard }) => heard).filter(({ status }) => status === "completed")).toHaveLength(
      1,
    );
  });
});
