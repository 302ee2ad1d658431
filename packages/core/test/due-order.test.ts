/** In which order due runs begin: by the time since when they are due, priorities, and keys that share the places. */

import { createApp, durable, type RunHead } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { describe, expect, it } from "vitest";
import { lab, pause, sqliteLab, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { countingStorage } from "@durable/testing";
import { open } from "./support/worker-lab.ts";
import { numbered, record } from "./support/worker-runs.ts";

interface Job {
  readonly id: string;
  readonly tenant?: string;
}

/** A workflow of one short step; `begun` has the ids of its runs in the order in which they began. */
function queue(base: Lab, weightOf: (job: Job) => number = () => 1) {
  const begun: string[] = [];
  const flow = durable(
    "job",
    (ctx, job: Job) =>
      ctx.step("work", async () => {
        begun.push(job.id);
        await pause(base.world, 50);
        return job.id;
      }),
    { fair: { key: (job) => job.tenant ?? "", weight: (job) => weightOf(job) } },
  );
  return { flow, begun };
}

const labs = { memory: lab, sqlite: sqliteLab };

describe.each(Object.entries(labs))("on %s", (_, makeLab) => {
  it("runs whose time has come begin before those that became due later", async () => {
    const base = makeLab();
    const { flow, begun } = queue(base);
    const start = (id: string, delay?: number): Promise<unknown> =>
      record(base, id, {
        workflow: "job",
        input: { id },
        ...(delay !== undefined && { flow: { startAt: base.world.now() + delay } }),
      });
    for (const id of numbered("delayed", 10)) await start(id, 400);
    for (const id of numbered("new", 150)) await start(id);
    const shops = [1, 2].map(() => open(base, [flow], { concurrency: 5 }));
    while (begun.length < 150) {
      await base.world.advance(100);
      // Work keeps coming, so that there is always a backlog.
      if (begun.length < 100) for (let n = 0; n < 10; n++) await start(`later-${begun.length}-${n}`);
    }
    const last = Math.max(...numbered("delayed", 10).map((id) => begun.indexOf(id)));
    expect(begun.slice(0, last).filter((id) => id.startsWith("later")).length).toBeLessThanOrEqual(
      shops.length * 5,
    );
  });

  it("a run with a priority is driven after a retry and after a pause, and reports its lag", async () => {
    const base = makeLab();
    const lags: (number | null)[] = [];
    let isBroken = true;
    for (const priority of [-86_400, -3, 0, 3, 86_400]) {
      isBroken = true;
      const flow = durable(
        `job${priority}`,
        async (ctx) => {
          await ctx.suspend("go");
          return ctx.step("work", () => {
            if (isBroken) throw new Error("broken");
            return "done";
          });
        },
        { priority, retry: false },
      );
      const app = createApp({
        ...base,
        workflows: [flow],
        hooks: { onRun: ({ at, dueAt }) => void lags.push(dueAt === null ? null : at - dueAt) },
      });
      const id = `run${priority}`;
      const started = await base.world.run(flow.with(base).run(undefined, { id }));
      const token = tokenOf(started);
      const run = app.get(id);
      await run.pause();
      await app.resume(token, null, { drive: false });
      await run.unpause();
      expect((await base.world.run(run.result().catch((error: unknown) => error))) as Error).toMatchObject({
        code: "step-failed",
      });
      isBroken = false;
      await run.retry();
      expect({ priority, output: await base.world.run(run.result()) }).toEqual({ priority, output: "done" });
      const fork = await base.world.run(flow.with(base).fork(id, { from: "work" }));
      expect((await app.list({ dueAt: base.world.now() })).runs.map(({ runId }) => runId)).not.toContain(id);
      expect(await base.world.run(fork.result())).toBe("done");
    }
    expect(lags.filter((ms) => ms !== null && (ms < 0 || ms > 60_000))).toEqual([]);
    expect(lags.some((ms) => ms !== null)).toBe(true);
  });

  it("a priority is refused beyond a day of seconds", async () => {
    const base = makeLab();
    const flow = durable("job", (ctx) => ctx.step("work", () => 1)).with(base);
    await expect(flow.start(undefined, { priority: 86_401 })).rejects.toMatchObject({
      code: "invalid-options",
      message: expect.stringContaining("from -86400 to 86400"),
    });
  });

  it("a small tenant is not kept waiting by a large one, which gets all places when it is alone", async () => {
    const base = makeLab();
    const { flow, begun } = queue(base);
    const start = (id: string, tenant: string): Promise<unknown> =>
      record(base, id, { workflow: "job", input: { id, tenant }, flow: { fair: tenant } });
    for (const id of numbered("large", 120)) await start(id, "large");
    const { worker } = open(base, [flow], { concurrency: 4 });
    await base.world.advance(200);
    expect(worker.active, "alone").toBe(4);
    const before = begun.length;
    for (const id of numbered("small", 10)) await start(id, "small");
    while (!numbered("small", 10).every((id) => begun.includes(id))) await base.world.advance(50);
    const last = begun.indexOf("small-9");
    const passed = begun.slice(before, last).filter((id) => id.startsWith("large")).length;
    expect(passed).toBeLessThanOrEqual(10 + 2 * 4);
    while (begun.length < 130) await base.world.advance(500);
  });

  it("a weight is the length of a turn", async () => {
    const base = makeLab();
    const { flow, begun } = queue(base);
    for (const [tenant, weight] of Object.entries({ a: 1, b: 3 }))
      for (const id of numbered(tenant, 12))
        await record(base, id, { workflow: "job", input: { id, tenant }, flow: { fair: tenant, weight } });
    open(base, [flow], { concurrency: 1 });
    while (begun.length < 12) await base.world.advance(50);
    expect(begun.slice(0, 12).filter((id) => id.startsWith("b"))).toHaveLength(9);
  });

  it("a delayed run stays one when it gets a message, or is paused and unpaused", async () => {
    const base = makeLab();
    const flow = durable("job", (ctx) => ctx.receive("go"));
    const app = createApp({ ...base, workflows: [flow] });
    const startAt = base.world.now() + 60_000;
    await app.start("job", undefined, { id: "r", at: startAt });
    const headOf = async (): Promise<RunHead> => (await app.list()).runs[0]!;
    const delayed = { status: "suspended", wakeAt: startAt, dueSince: startAt };
    expect(await headOf()).toMatchObject(delayed);
    await app.send("r", "go", "early");
    expect(await headOf()).toMatchObject(delayed);
    await app.get("r").pause();
    expect(await headOf()).toMatchObject({ status: "paused", wakeAt: null, dueSince: null });
    await app.get("r").unpause();
    expect(await headOf()).toMatchObject(delayed);
    open(base, [flow]);
    await base.world.advance(59_000);
    expect(await headOf()).toMatchObject(delayed);
    expect(await base.world.run(app.get("r").result())).toBe("early");
  });

  it("a delayed run stays one when a sender's clock is ahead of its time", async () => {
    const base = makeLab();
    const flow = durable("job", (ctx) => ctx.receive("go"));
    const app = createApp({ ...base, workflows: [flow] });
    const startAt = base.world.now() + 60_000;
    await app.start("job", undefined, { id: "r", at: startAt });
    const ahead = { ...base.world, now: () => base.world.now() + 300_000 };
    await createApp({ ...base, world: ahead, workflows: [flow] }).send("r", "go", "early");
    expect((await app.list()).runs).toMatchObject([
      { status: "suspended", wakeAt: startAt, dueSince: startAt },
    ]);
  });

  it("a run that has begun stays so when a sender's clock is behind its time", async () => {
    const base = makeLab();
    const flow = durable("job", (ctx) => ctx.receive("go"));
    const app = createApp({ ...base, workflows: [flow] });
    await app.start("job", undefined, { id: "r", at: base.world.now() + 1_000 });
    open(base, [flow]);
    await base.world.advance(5_000);
    const behind = { ...base.world, now: () => base.world.now() - 60_000 };
    await createApp({ ...base, world: behind, workflows: [] }).send("r", "go", "there");
    expect((await app.list()).runs).toMatchObject([{ status: "running", wakeAt: 0 }]);
    await base.world.advance(6_000);
    expect(await app.get("r").outcome()).toMatchObject({ status: "completed", output: "there" });
  });

  it("a worker whose clock is behind does not ask for a run before its time again and again", async () => {
    const base = makeLab();
    const flow = durable("job", (ctx) => ctx.step("work", () => "done"));
    const app = createApp({ ...base, workflows: [flow] });
    await app.start("job", undefined, { id: "r", at: base.world.now() + 60_000 });
    const ahead = { ...base.world, now: () => base.world.now() + 300_000 };
    const early = createApp({ ...base, world: ahead, workflows: [] }).get("r");
    await early.pause();
    await early.unpause();
    const storage = countingStorage(base.storage);
    open(base, [flow], { concurrency: 1, storage });
    for (let second = 0; second < 50; second++) await base.world.advance(1_000);
    expect(storage.counts.leases).toBeLessThan(30);
    expect(await base.world.run(app.get("r").result())).toBe("done");
  });
});

describe("fair", () => {
  it("is recorded with the run, and with its children and forks", async () => {
    const base = lab();
    const { flow } = queue(base, ({ id }) => id.length);
    const run = await flow.with(base).start({ id: "abc", tenant: "t" }, { id: "r" });
    await base.world.run(run.result());
    await base.world.run(
      flow.with(base).fork("r", { from: "work", id: "f", input: { id: "a", tenant: "u" } }),
    );
    const { runs } = await base.storage.list();
    expect(Object.fromEntries(runs.map(({ runId, flow: kept }) => [runId, kept]))).toEqual({
      r: { fair: "t", weight: 3 },
      f: { fair: "u" },
    });
  });

  it.each([
    [{ fair: () => 7 as never }, "has the key 7"],
    [{ fair: { key: "a", weight: 0 } }, "has the weight 0"],
    [{ fair: { key: "a", weight: 1.5 } }, "has the weight 1.5"],
    [{ fair: { key: "a", wait: 1 } as never }, "wait"],
  ])("refuses %o", async (options, words) => {
    const base = lab();
    const flow = durable("job", (ctx) => ctx.step("work", () => 1), options).with(base);
    await expect(flow.start()).rejects.toMatchObject({
      code: "invalid-options",
      message: expect.stringContaining(words),
    });
  });

  it("is refused by a storage without limits", () => {
    const flow = durable("job", (ctx) => ctx.step("work", () => 1), { fair: "a" });
    const storage = new RemoteStorage(new MemoryBucket());
    expect(() => flow.with({ ...lab(), storage })).toThrow(
      "RemoteStorage cannot keep limits across processes",
    );
  });
});
