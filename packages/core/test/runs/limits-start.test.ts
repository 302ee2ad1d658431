import { createApp, durable, type Workflow } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import { crashEverywhere } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, noticingLab, pause, sqliteLab, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { numbered } from "../support/worker-runs.ts";

/** A workflow that notes when each of its runs began, and with which input. */
function noting({ world }: Lab, options: object = {}) {
  const begun: { readonly id: string; readonly input: unknown; readonly at: number }[] = [];
  const flow = durable(
    "note",
    async (ctx, input: unknown) => {
      await ctx.step("begin", () => void begun.push({ id: ctx.runId, input, at: world.now() }));
      return input;
    },
    options,
  );
  return { flow, begun };
}

describe("rate", () => {
  it("a run that waits for its turn has no slot", async () => {
    const base = lab();
    const options = { concurrency: { max: 1 }, rate: { max: 1, per: "1 minute" } };
    const { flow } = noting(base, options);
    await base.world.run(flow.with(base).run(1));
    const app = createApp({ ...base, workflows: [flow], bind: false });
    await flow.with(base).start(2, { id: "second", drive: false });
    expect(await base.world.run(app.advance("second"))).toMatchObject({ status: "suspended" });
    expect(await base.storage.limits?.slots()).toEqual([]);
  });

  it.each([
    ["10 a minute", 10],
    ["50 a minute", 50],
  ])("%s: never more within any minute, and never less than 95 percent", async (_, limit) => {
    const base = noticingLab();
    const { flow, begun } = noting(base, { rate: { max: limit, per: "1 minute" } });
    const ids = numbered("r", limit * 4);
    for (const id of ids) await flow.with(base).start(1, { id, drive: false });
    const shops = [1, 2].map(() => open(base, [flow], { concurrency: 5 }));
    const from = base.world.now();
    await base.world.advance(180_000);
    const times = begun.map(({ at }) => at - from).toSorted((a, b) => a - b);
    for (const [n, at] of times.entries())
      expect((times[n + limit] ?? Infinity) - at, "the next after a full window").toBeGreaterThanOrEqual(
        60_000,
      );
    expect(times.filter((at) => at < 60_000).length).toBe(limit);
    for (const minute of [1, 2]) {
      const within = times.filter((at) => at >= minute * 60_000 && at < (minute + 1) * 60_000);
      expect(within.length, `minute ${minute + 1}`).toBeGreaterThanOrEqual(Math.floor(0.95 * limit));
      expect(within.length).toBeLessThanOrEqual(limit);
    }
    expect(new Set(begun.map(({ id }) => id)).size, "none began twice").toBe(begun.length);
    await Promise.all(shops.map(({ worker }) => worker.stop()));
  });

  it("is counted per key, and holds for runs that no worker drives", async () => {
    const base = lab();
    const { flow, begun } = noting(base, { rate: { max: 2, per: "10s", key: (input: string) => input } });
    const from = base.world.now();
    const bound = flow.with(base);
    const runs = numbered("r", 8).map((id, n) => bound.run(n < 6 ? "a" : "b", { id }));
    const outcomes = await base.world.run(Promise.all(runs));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(8).fill("completed"));
    const times = begun
      .filter(({ input }) => input === "a")
      .map(({ at }) => Math.floor((at - from) / 10_000));
    expect(times).toEqual([0, 0, 1, 1, 2, 2]);
    expect(begun.filter(({ input, at }) => input === "b" && at - from < 10_000)).toHaveLength(2);
  });

  it("a run that waits for its turn says so, and a run that has begun needs none", async () => {
    const base = lab();
    const { flow } = noting(base, { rate: { max: 1, per: "1 hour" } });
    const bound = flow.with(base);
    await base.world.run(bound.run(1, { id: "first" }));
    const outcome = await base.world.run(bound.run(2, { id: "second" }));
    expect(outcome).toMatchObject({ status: "suspended", waiting: [] });
    const kinds = (await bound.get("second").entries()).map(({ kind }) => kind);
    expect(kinds).toEqual(["run.started", "run.queued"]);
    expect(await base.world.run(bound.get("second").result())).toBe(2);
  });
});

describe("priority", () => {
  it("due runs with a higher priority go first; equal ones in the order in which they were recorded", async () => {
    const base = noticingLab();
    const { flow, begun } = noting(base, { priority: (input: number) => input });
    for (const [n, priority] of [0, 5, 0, 9, -2, 5].entries())
      await flow.with(base).start(priority, { id: `r${n}`, drive: false });
    await flow.with(base).start(0, { id: "urgent", drive: false, priority: 100 });
    const { until } = open(base, [flow], { concurrency: 1 });
    await until(7);
    expect(begun.map(({ id }) => id)).toEqual(["urgent", "r3", "r1", "r5", "r0", "r2", "r4"]);
  });
});

describe("delay and at", () => {
  it("a run begins at its time, and not before", async () => {
    const base = lab();
    const { flow, begun } = noting(base);
    const bound = flow.with(base);
    const from = base.world.now();
    await bound.start(1, { id: "d", delay: "2 hours", drive: false });
    await bound.start(2, { id: "a", at: new Date(from + 3_600_000), drive: false });
    const { app, until } = open(base, [flow]);
    expect(await app.advance("d")).toMatchObject({ status: "suspended", wakeAt: from + 7_200_000 });
    await until(2);
    expect(begun.map(({ id }) => id)).toEqual(["a", "d"]);
    expect(begun.map(({ at }) => at - from >= 3_600_000)).toEqual([true, true]);
    expect(begun[1]?.at).toBeGreaterThanOrEqual(from + 7_200_000);
    expect(begun[1]?.at).toBeLessThan(from + 7_200_000 + 6_000);
  });

  it("run() waits within its patience, and result() waits in any case", async () => {
    const base = lab();
    const { flow } = noting(base);
    const bound = flow.with(base);
    expect(await base.world.run(bound.run(1, { delay: "30s" }))).toMatchObject({ status: "completed" });
    const run = await bound.start(2, { delay: "1 day" });
    expect(await base.world.run(run.result())).toBe(2);
  });

  it("a run without these options records what it always did", async () => {
    const base = lab();
    const { flow } = noting(base);
    await base.world.run(flow.with(base).run(1, { id: "r", priority: undefined }));
    const { batches, head } = await base.storage.read((await base.storage.list()).runs[0]?.locator ?? "");
    expect(JSON.parse(batches[0] ?? "")).not.toHaveProperty("entries.0.flow");
    expect(head).not.toHaveProperty("flow");
  });
});

describe("singleton", () => {
  it("a second start returns the run that has not ended", async () => {
    const base = lab();
    const flow = durable("ask", async (ctx, n: number) => [n, await ctx.suspend<string>("ok")]).with(base);
    const first = await flow.start(1, { singleton: "k" });
    const second = await flow.start(2, { singleton: { key: "k" }, id: "other" });
    const third = await flow.start(3, { singleton: "l" });
    expect([first.repeated, second.repeated, third.repeated]).toEqual([false, true, false]);
    expect(second.id).toBe(first.id);
    const outcome = await base.world.run(flow.run(4, { singleton: "k" }));
    expect(outcome.runId).toBe(first.id);
    await first.cancel();
    const next = await flow.start(5, { singleton: "k" });
    expect(next.repeated).toBe(false);
    expect(next.id).not.toBe(first.id);
  });

  it("of many starts at the same time, one is recorded", async () => {
    const base = lab();
    const { flow } = noting(base);
    const starts = Array.from({ length: 20 }, (_, n) =>
      flow.with(base).start(n, { singleton: "k", drive: false }),
    );
    const runs = await Promise.all(starts);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    expect(runs.filter(({ repeated }) => !repeated)).toHaveLength(1);
  });
});

describe("debounce", () => {
  const starts = async (flow: Workflow<unknown, unknown>, base: Lab, gaps: readonly number[]) => {
    const ids: string[] = [];
    for (const [n, gap] of gaps.entries()) {
      await pause(base.world, gap);
      const run = await flow.with(base).start(n, { debounce: { key: "k", wait: "10s" }, drive: false });
      ids.push(run.id);
    }
    return ids;
  };

  it("begins when no further start came, with the last input; a later start is another run", async () => {
    const base = noticingLab();
    const { flow, begun } = noting(base);
    const { until } = open(base, [flow]);
    const from = base.world.now();
    const ids = await base.world.run(starts(flow, base, [0, 5_000, 9_000, 9_900, 30_000, 1_000]));
    await until(2);
    expect(new Set(ids).size).toBe(2);
    expect(begun.map(({ id, input }) => [id, input])).toEqual([
      [ids[0], 3],
      [ids[4], 5],
    ]);
    expect(begun[0]?.at).toBeGreaterThanOrEqual(from + 33_900);
    expect(begun[0]?.at).toBeLessThan(from + 40_000);
    const kinds = (
      await flow
        .with(base)
        .get(ids[0] ?? "")
        .entries()
    ).map(({ kind }) => kind);
    expect(kinds.slice(0, 5)).toEqual(["run.started", ...Array(4).fill("run.queued")]);
  });

  it("a fork of the run has the input with which it began, and so has its view", async () => {
    const base = noticingLab();
    const { flow, begun } = noting(base);
    const { until } = open(base, [flow]);
    const [id = ""] = await base.world.run(starts(flow, base, [0, 5_000]));
    await until(1);
    const run = flow.with(base).get(id);
    const fork = await run.fork({ from: "begin" });
    await base.world.run(fork.result());
    expect(begun.map(({ id: its, input }) => [its, input])).toEqual([
      [id, 1],
      [fork.id, 1],
    ]);
    expect(viewRun(await run.entries()).input).toBe(1);
  });

  it.each([
    ["memory", lab],
    ["SQLite", sqliteLab],
  ])("has the tags, the deadline and the key of the start whose input it runs: %s", async (_, make) => {
    const base = make();
    const flow = durable("tagged", async (ctx, input: { v: string }) => ctx.step("begin", () => input.v), {
      tags: ({ v }) => (v === "none" ? {} : { version: v }),
      concurrency: { max: 1, key: ({ v }) => v },
    });
    const app = createApp({ ...base, workflows: [flow] });
    const start = async (v: string, options: object = {}) =>
      app.start("tagged", { v }, { debounce: { key: "k", wait: "10s" }, drive: false, ...options });
    const tagged = async (tags: Record<string, string>) =>
      (await app.list({ tags })).runs.map(({ runId }) => runId);
    const from = base.world.now();
    const { id } = await start("v1", { tags: { who: "a" }, deadline: "1 hour", priority: 3 });
    expect(await tagged({ version: "v1", who: "a" })).toEqual([id]);
    await start("v2", { deadline: "2 hours" });
    expect(await tagged({ version: "v1" })).toEqual([]);
    expect(await tagged({ who: "a" })).toEqual([]);
    expect(await tagged({ version: "v2" })).toEqual([id]);
    const [head] = (await app.list()).runs;
    expect(head).toMatchObject({ tags: { version: "v2" }, flow: { slot: "v2" } });
    expect(head?.flow).not.toHaveProperty("priority");
    expect(viewRun(await app.get(id).entries()).deadline).toBe(from + 2 * 3_600_000);
    await start("none");
    expect(await tagged({ version: "v2" })).toEqual([]);
    expect((await app.list()).runs[0]).not.toHaveProperty("tags");
    expect(viewRun(await app.get(id).entries()).deadline).toBe(null);
    await start("v3", { tags: { who: "b" } });
    await base.world.advance(11_000);
    expect(await base.world.run(app.advance(id))).toMatchObject({ status: "completed", output: "v3" });
    const fork = await app.get(id).fork({ from: "begin" });
    await base.world.run(fork.result());
    expect(new Set(await tagged({ version: "v3", who: "b" }))).toEqual(new Set([id, fork.id]));
  });

  it("a run that was moved ends by the deadline of its last start", async () => {
    const base = noticingLab();
    const flow = durable("long", async (ctx) => {
      await ctx.sleep("1 day");
      return "done";
    });
    const { app } = open(base, [flow]);
    const debounce = { key: "k", wait: "10s" } as const;
    const run = await app.start("long", undefined, { debounce, deadline: "1 minute", drive: false });
    await app.start("long", undefined, { debounce, drive: false });
    await base.world.advance(2 * 86_400_000);
    expect(await run.outcome()).toMatchObject({ status: "completed" });
    const second = await app.start("long", undefined, { debounce, drive: false });
    await app.start("long", undefined, { debounce, deadline: "1 minute", drive: false });
    await base.world.advance(86_400_000);
    expect(await second.outcome()).toMatchObject({ status: "failed", error: { code: "deadline" } });
  });

  it("a start that is repeated under its id gets its run, also if another start has moved it", async () => {
    const base = noticingLab();
    const { flow, begun } = noting(base);
    const start = (input: unknown, id?: string) =>
      flow.with(base).start(input, { id, debounce: { key: "k", wait: "10s" }, drive: false });
    await start("first", "r");
    await start("second");
    const again = await start("first", "r");
    expect([again.id, again.repeated]).toEqual(["r", true]);
    await expect(start("third", "r")).rejects.toMatchObject({ code: "input-mismatch" });
    const { until } = open(base, [flow]);
    await until(1);
    expect(begun.map(({ input }) => input)).toEqual(["second"]);
  });

  it("a start that meets the beginning is a new run, and none is lost", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const base = noticingLab(seed);
      const { flow, begun } = noting(base);
      const { worker } = open(base, [flow]);
      const gaps = Array.from({ length: 12 }, () => Math.floor(9_990 + base.world.random() * 20));
      const ids = await base.world.run(starts(flow, base, gaps));
      await base.world.advance(60_000);
      const last = new Map(ids.map((id, n) => [id, n]));
      expect(begun.map(({ id, input }) => [id, input])).toEqual([...last]);
      await worker.stop();
    }
  });
});

it("crash everywhere: limited runs end once, whatever dies", async () => {
  const flow = durable(
    "job",
    async (ctx, input: string) => {
      const a = await ctx.step("a", () => `${input} a`);
      await ctx.sleep("1 minute");
      return ctx.step("b", () => `${a} b`);
    },
    { concurrency: { max: 1, key: (input) => input }, rate: { max: 1, per: "10s" }, priority: 2 },
  );
  expect(await crashEverywhere(flow, { input: "x" })).toMatchObject({ ok: true });
});
