import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { replayRun, storageOf, wakeRun } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";

const secret = "a secret for tests, of no worth";
type Body = (ctx: Context, topic: string) => Promise<unknown>;

/** The same storage under changing code. */
function lab() {
  const storage = new MemoryStorage();
  const work: string[] = [];
  const did = (name: string): string => {
    work.push(name);
    return name;
  };
  const appOf = (body: Body) => createApp({ storage, secret, workflows: [durable("brief", body)] });
  const first: Body = async (ctx, topic) => {
    await ctx.step("plan", () => did("plan"));
    const ok = await ctx.suspend("approve");
    await ctx.step("write", () => did("write"));
    return [topic, ok];
  };
  const start = async (end: boolean): Promise<void> => {
    const app = appOf(first);
    const run = await app.start("brief", "tides", { id: "r" });
    const outcome = await run.result().catch(() => run.outcome());
    const { waiting } = outcome as { waiting: { token: string }[] };
    if (end) await app.resume(waiting[0]!.token, true);
  };
  const batches = async (): Promise<number> => {
    const { locator } = (await storage.list()).runs[0]!;
    return (await storage.read(locator)).length;
  };
  return { storage, work, did, appOf, first, start, batches };
}

describe("replayRun", () => {
  test("of the same code is the same, for a parked run and for one that has ended, and changes nothing", async () => {
    for (const end of [false, true]) {
      const { appOf, first, start, work, batches } = lab();
      await start(end);
      const before = [[...work], await batches()];
      const replayed = await replayRun(appOf(first), "r");
      expect(replayed).toMatchObject({
        verdict: "same",
        delivered: end ? 3 : 1,
        unused: [],
        next: [],
        unreached: [],
      });
      expect(replayed.end).toEqual(end ? { value: ["tides", true] } : null);
      expect([[...work], await batches()]).toEqual(before);
    }
  });

  test("finds a wait that the code no longer reaches, a renamed step and another output", async () => {
    const parked = lab();
    await parked.start(false);
    const gone = await replayRun(
      parked.appOf(async (ctx) => ctx.step("plan", () => parked.did("plan"))),
      "r",
    );
    expect(gone).toMatchObject({ verdict: "diverged", unreached: ["approve"], end: { value: "plan" } });
    expect(gone.error?.message).toContain('without reaching the open suspend point "approve"');

    const { start, appOf, work } = lab();
    await start(true);
    const renamed = await replayRun(
      appOf(async (ctx, topic) => {
        await ctx.step("outline", () => "never");
        const ok = await ctx.suspend("approve");
        return [topic, ok];
      }),
      "r",
    );
    expect(renamed).toMatchObject({ verdict: "changed", unused: ["plan", "approve", "write"] });
    expect(renamed.next).toEqual([{ key: "outline", kind: "step" }]);
    const other = await replayRun(
      appOf(async (ctx) => {
        await ctx.step("plan", () => "never");
        await ctx.suspend("approve");
        await ctx.step("write", () => "never");
        return "other";
      }),
      "r",
    );
    expect(other).toMatchObject({ verdict: "changed", endsAsRecorded: false, unused: [] });
    expect(work).toEqual(["plan", "write"]);
  });

  test("finds a key of another kind", async () => {
    const { appOf, start } = lab();
    await start(true);
    const replayed = await replayRun(
      appOf(async (ctx) => ctx.sleep("1s", { name: "plan" })),
      "r",
    );
    expect(replayed).toMatchObject({ verdict: "diverged", error: { code: "diverged" } });
  });

  test("calls onStart before the function, and refuses a workflow that is not there", async () => {
    const { appOf, first, start, storage } = lab();
    await start(true);
    const order: string[] = [];
    await replayRun(
      appOf(async (ctx, topic) => {
        order.push("function");
        return first(ctx, topic);
      }),
      "r",
      { onStart: () => order.push("start") },
    );
    expect(order).toEqual(["start", "function"]);
    await expect(replayRun(createApp({ storage, secret, workflows: [] }), "r")).rejects.toMatchObject({
      code: "unknown-workflow",
    });
  });
});

test("storageOf gives the storage of an app, and says when it cannot", async () => {
  const storage = new MemoryStorage();
  const app = createApp({ storage, workflows: [] });
  expect(await storageOf(app)).toBe(storage);
  expect(await storageOf({ ...app })).toBe(storage);
  expect(() => storageOf({} as typeof app)).toThrow("not made by this copy");
});

describe("wakeRun", () => {
  const nap = durable("nap", async (ctx) => {
    await Promise.all([ctx.sleep("3 days"), ctx.sleep("5 days", { name: "longer" })]);
    return ctx.step("after", () => "awake");
  });
  const encryption = aesGcm({ current: "k1", keys: { k1: "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY" } });

  test("ends all sleeps of a parked run, sealed or not; the next driver goes on, and replays the same", async () => {
    for (const sealed of [{}, { encryption }]) {
      const options = { storage: new MemoryStorage(), secret, ...sealed };
      await nap.with(options).run(undefined, { id: "n" });
      const app = createApp({ ...options, workflows: [nap] });
      expect(await wakeRun(app, "n")).toEqual(["sleep", "longer"]);
      expect((await app.list({ dueAt: Date.now() })).runs).toHaveLength(1);
      expect(await wakeRun(app, "n")).toEqual([]);
      expect(await app.advance("n")).toMatchObject({ status: "completed", output: "awake" });
      expect(await replayRun(app, "n")).toMatchObject({ verdict: "same" });
      expect(await wakeRun(app, "n")).toEqual([]);
    }
  });

  test("lets a driver go on that holds the sleep in memory", async () => {
    const options = { storage: new MemoryStorage(), secret, patience: "10 days" } as const;
    const running = nap.with(options).run(undefined, { id: "held" });
    const app = createApp({ ...options, workflows: [] });
    for (let woken = 0; woken < 2;) {
      const keys = await wakeRun(app, "held").catch(() => []);
      woken += keys.length;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await running).toMatchObject({ status: "completed", output: "awake" });
  });
});
