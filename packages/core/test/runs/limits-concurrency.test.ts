import { createApp, durable, type Outcome } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { countingStorage } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, noticingLab, outputOf, pause, secret, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { numbered } from "../support/worker-runs.ts";

/** A workflow whose body notes how many of a key run at the same time. */
function counted({ world }: Lab, limit: number, ms = 1_000) {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  const flow = durable(
    "job",
    async (ctx, key: string) => {
      await ctx.step("work", async () => {
        now.set(key, (now.get(key) ?? 0) + 1);
        most.set(key, Math.max(most.get(key) ?? 0, now.get(key) ?? 0));
        await pause(world, ms);
        now.set(key, (now.get(key) ?? 0) - 1);
      });
      return key;
    },
    { concurrency: { max: limit, key: (input) => input } },
  );
  return { flow, most };
}

describe("concurrency", () => {
  it("keeps runs in one process to the limit, per key, and drives them all", async () => {
    const base = lab();
    const { flow, most } = counted(base, 3);
    const bound = flow.with(base);
    const outcomes = await base.world.run(
      Promise.all(numbered("r", 20).map((id, n) => bound.run(n % 2 === 0 ? "a" : "b", { id }))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(Array(20).fill("completed"));
    expect(Object.fromEntries(most)).toEqual({ a: 3, b: 3 });
  });

  it.each([
    ["that polls", lab],
    ["that gets notices", noticingLab],
  ])("keeps workers %s to the limit, and uses it", async (_, make) => {
    const base = make();
    const { flow, most } = counted(base, 3, 10_000);
    const ids = numbered("r", 40);
    for (const [n, id] of ids.entries())
      await flow.with(base).start(n % 4 === 0 ? "b" : "a", { id, drive: false });
    const from = base.world.now();
    const shops = [1, 2, 3].map(() => open(base, [flow], { concurrency: 8 }));
    const ended = (): Outcome<unknown>[] =>
      shops.flatMap(({ heard }) => heard).filter(({ status }) => status === "completed");
    while (ended().length < ids.length) await base.world.advance(1_000);
    expect(Object.fromEntries(most)).toEqual({ a: 3, b: 3 });
    // 30 runs of "a", three at a time, ten seconds each.
    expect(base.world.now() - from).toBeGreaterThanOrEqual(100_000);
    expect(base.world.now() - from, "no slot is free for long").toBeLessThan(125_000);
  });

  it("a worker without a free slot does not spin", async () => {
    const base = noticingLab();
    const { flow } = counted(base, 1, 600_000);
    const storage = countingStorage(base.storage);
    for (const id of numbered("r", 50)) await flow.with(base).start("a", { id, drive: false });
    open(base, [flow], { concurrency: 10, storage });
    await base.world.advance(60_000);
    expect(storage.counts.claims, "two looks a second at most").toBeLessThan(180);
    expect(storage.counts.leases).toBeLessThan(10);
  });

  it("a parked run has no slot", async () => {
    const base = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"), { concurrency: 1 }).with(base);
    const first = await base.world.run(flow.run(undefined, { id: "first" }));
    const second = await base.world.run(flow.run(undefined, { id: "second" }));
    expect([first.status, second.status]).toEqual(["suspended", "suspended"]);
    expect(await base.storage.limits?.slots()).toEqual([]);
    const both = await base.world.run(
      Promise.all([flow.resume(tokenOf(first), "a"), flow.resume(tokenOf(second), "b")]),
    );
    expect(both.map(({ outcome }) => outputOf(outcome))).toEqual(["a", "b"]);
  });

  it("a dead driver's slot is free when its lease has expired", async () => {
    const base = lab();
    const { flow, most } = counted(base, 1);
    await flow.with(base).start("a", { id: "dead", drive: false });
    const { runs } = await base.storage.list();
    await base.storage.lease(runs[0]?.locator ?? "", "a process that died", 30_000);
    const from = base.world.now();
    const outcome = await base.world.run(flow.with(base).run("a", { id: "next" }));
    expect(outcome.status).toBe("completed");
    expect(base.world.now() - from).toBeGreaterThanOrEqual(30_000);
    expect(base.world.now() - from).toBeLessThan(33_000);
    expect(most.get("a")).toBe(1);
  });

  it("a parent gives its slot to a child of the same workflow", async () => {
    const base = lab();
    const tree = durable(
      "tree",
      async (ctx, depth: number): Promise<number> =>
        depth === 0 ? 1 : (await ctx.child(tree, depth - 1)) + 1,
      { concurrency: { max: 1 } },
    );
    const run = await tree.with(base).start(3, { id: "r" });
    expect(await base.world.run(run.result({ wait: true }))).toBe(4);
    await tree.with(base).start(3, { id: "s", drive: false });
    const { app } = open(base, [tree]);
    expect(await base.world.run(app.get("s").result({ wait: true }))).toBe(4);
  });

  it("app.advance and app.sweep do not wait: a run without a slot stays due", async () => {
    const base = lab();
    const { flow } = counted(base, 1, 60_000);
    const app = createApp({ ...base, workflows: [flow], bind: false });
    void flow.with(base).run("a", { id: "first" });
    await base.world.advance(10);
    await app.start("job", "a", { id: "second", drive: false });
    expect(await app.advance("second")).toMatchObject({ status: "running" });
    expect(await app.sweep()).toMatchObject({ outcomes: [{ runId: "second", status: "running" }] });
    expect(await base.storage.limits?.slots()).toEqual([
      { workflow: "job", slot: "a", taken: 1, waiting: 1 },
    ]);
  });

  it("forks and chapters have the slot of their run", async () => {
    const base = lab();
    const flow = durable(
      "book",
      async (ctx, input: { key: string; chapter: number }) => {
        await ctx.step("work", () => 1);
        if (input.chapter < 2) return ctx.continueAs({ ...input, chapter: input.chapter + 1 });
        return ctx.suspend("ok");
      },
      { concurrency: { max: 5, key: ({ key }) => key }, priority: 3 },
    ).with(base);
    await base.world.run(flow.run({ key: "k", chapter: 1 }, { id: "r" }));
    const fork = await flow.fork("r", { from: "work", id: "f" });
    await base.world.run(fork.result().catch(() => {}));
    const { runs } = await base.storage.list();
    expect(runs.map(({ flow: recorded }) => recorded)).toEqual(
      [0, 1].map(() => ({ slot: "k", priority: 3 })),
    );
  });
});

describe("a storage without limits", () => {
  const storage = new RemoteStorage(new MemoryBucket());
  const refusal = {
    code: "invalid-options",
    message: expect.stringContaining("RemoteStorage cannot keep limits"),
  };

  it("is refused when the program starts", () => {
    const flow = durable("job", () => 1, { concurrency: { max: 1 } });
    expect(() => createApp({ storage, secret, workflows: [flow] })).toThrow(expect.objectContaining(refusal));
    expect(() => durable("job", () => 1, { storage, rate: { max: 1, per: "1s" } })).toThrow(
      expect.objectContaining(refusal),
    );
    expect(() => createApp({ storage, secret, workflows: [], quotas: { openai: { requests: 1 } } })).toThrow(
      expect.objectContaining(refusal),
    );
  });

  it("takes a delay, and refuses what it cannot keep", async () => {
    const flow = durable("job", () => 1, { storage, secret });
    for (const options of [{ singleton: "a" }, { debounce: { key: "a", wait: 1 } }, { priority: 1 }])
      await expect(flow.start(undefined, options)).rejects.toMatchObject(refusal);
    const run = await flow.start(undefined, { delay: "1 hour", drive: false });
    expect(await run.outcome()).toMatchObject({ status: "suspended", waiting: [] });
  });
});

describe("options", () => {
  const base = lab();
  it.each([
    [{ concurrency: { max: 0 } }, "`max: 0`"],
    [{ concurrency: 0 }, "`max: 0`"],
    [{ concurrency: { max: 1, keys: "x" } }, `no option "keys"`],
    [{ concurrency: { max: 1, key: () => 5 } }, "has the key 5"],
    [{ rate: { max: 1, per: "often" } }, "often"],
    [{ rate: { max: 1.5, per: "1s" } }, "`max: 1.5`"],
    [{ priority: 1.5 }, "priority 1.5"],
  ])("refuses %j", async (options, message) => {
    const flow = durable("job", () => 1, options as object).with(base);
    await expect(flow.start()).rejects.toMatchObject({
      code: "invalid-options",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    [{ delay: "1s", at: 5 }, "two times"],
    [{ at: Number.NaN }, "not a time"],
    [{ singleton: "a", debounce: { key: "a", wait: 1 } }, "Pass one of them"],
    [{ debounce: { key: "a" } }, "debounce.wait"],
    [{ singleton: { name: "a" } }, `no option "name"`],
  ])("refuses a start with %j", async (options, message) => {
    const flow = durable("job", () => 1).with(base);
    await expect(flow.start(undefined, options as object)).rejects.toMatchObject({
      code: "invalid-options",
      message: expect.stringContaining(message),
    });
  });
});
