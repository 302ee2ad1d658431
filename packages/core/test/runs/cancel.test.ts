import { createApp, durable, type DurableError } from "@durable/core";
import { expect, test } from "vitest";
import {
  failureOf,
  hooked,
  kindsOf,
  lab,
  outputOf,
  pause,
  secret,
  tokenOf,
  type Lab,
} from "../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf, silent } from "../support/behaviour-lives.ts";

test("cancel reaches work that a branch left behind when it returned", async () => {
  const { world, storage } = lab();
  let aborted = false;
  const flow = durable("dangling", async (ctx) => {
    await ctx.parallel({
      quick: async (c) => {
        void c.step("left", ({ signal }) => {
          signal.addEventListener("abort", () => (aborted = true));
          return new Promise(() => {});
        });
      },
    });
    await ctx.sleep("1h");
  }).with({ storage, world, secret });
  await flow.start(undefined, { id: "r" });
  await world.advance(1_000);
  await world.run(flow.cancel("r"));
  await world.advance(1_000);
  expect(aborted).toBe(true);
});

test("work is told to stop when its driver gives up on the storage", async () => {
  const { world, storage } = lab();
  let aborted = false;
  const down = hooked(storage, (operation, moment, index) => {
    if (operation === "append" && moment === "before" && index > 1) throw new Error("down");
  });
  const flow = durable("storm", (ctx) =>
    Promise.all([
      ctx.step("quick", () => 1),
      ctx.step("long", ({ signal }) => {
        signal.addEventListener("abort", () => (aborted = true));
        return new Promise(() => {});
      }),
    ]),
  ).with({ storage: down, world, secret });
  await expect(world.run(flow.run(undefined, { id: "r" }))).rejects.toMatchObject({ code: "storage-failed" });
  expect(aborted).toBe(true);
});

/** A bit of everything, with a note of each body: when it began, ended, and was told to stop. */
function everything(on: Lab) {
  const bodies: { name: string; ended: boolean; told: boolean }[] = [];
  const work = (name: string, ms: number) => async (info: { attempt: number; signal: AbortSignal }) => {
    const body = { name, ended: false, told: false };
    bodies.push(body);
    info.signal.addEventListener("abort", () => (body.told = true));
    await pause(on.world, ms);
    body.ended = true;
    if (name === "flaky" && info.attempt === 1) throw new Error("again");
  };
  const flow = durable("everything", async (ctx) => {
    await ctx.step("first", work("first", 100));
    await ctx.parallel({
      a: (c) => c.step("work", work("a", 3_000)),
      b: async (c) => {
        await c.sleep("1s");
        await c.step("work", work("b", 50));
      },
      c: (c) => c.suspend("ok", { timeout: "2s", fallback: null }),
    });
    await ctx.step("flaky", work("flaky", 10));
    await ctx.step("last", work("last", 100));
  });
  return { bodies, flow };
}

/**
 * Cancels before or after the n-th append of a driver, or its n-th operation of any kind; gives the bodies that had
 * begun and those running then.
 */
async function cancelAt(moment: "before" | "after", at: number, kinds = /^append$/) {
  const on = lab();
  const { bodies, flow } = everything(on);
  let count = 0;
  let atCancel: { begun: number; running: typeof bodies } | null = null;
  const cancel = async () => {
    if (count !== at) return;
    expect((await flow.with({ ...on }).cancel("r")).status).toMatch(/cancelled|completed/);
    atCancel = { begun: bodies.length, running: bodies.filter(({ ended }) => !ended) };
  };
  const storage = hooked(on.storage, async (operation, now) => {
    if (!kinds.test(operation)) return;
    if (now === "before") count += 1;
    if (now === moment) await cancel();
  });
  const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
  await on.world.advance(60_000);
  const entries = await kindsOf(flow.with({ ...on }).get("r"));
  const { outcomes } = await on.world.run(createApp({ workflows: [flow], ...on }).sweep());
  return {
    outcome,
    kinds: entries,
    bodies,
    atCancel: atCancel as { begun: number; running: typeof bodies } | null,
    outcomes,
    count,
  };
}

test.each(["before", "after"] as const)(
  "H45 a cancel %s every append ends the run there, tells what runs, and no work follows it",
  async (moment) => {
    const calm = await cancelAt(moment, 0);
    expect(calm.outcome.status).toBe("completed");
    expect(calm.count).toBeGreaterThan(9);
    // Before its first append there is no run to cancel; after its last one it is over.
    const first = moment === "before" ? 2 : 1;
    const last = moment === "before" ? calm.count : calm.count - 1;
    for (let at = first; at <= last; at++) {
      const { outcome, kinds, bodies, atCancel, outcomes } = await cancelAt(moment, at);
      const when = `${moment} append ${at}`;
      expect(outcome.status, `cancelled ${when}`).toBe("cancelled");
      expect(kinds.indexOf("run.cancelled"), `cancelled ${when}`).toBe(kinds.length - 1);
      // Between an append and its acknowledgement one more body may begin; its result is never recorded.
      expect(bodies.length - atCancel!.begun, `cancelled ${when}`).toBeLessThanOrEqual(
        moment === "after" ? 1 : 0,
      );
      for (const body of atCancel!.running) expect(body, `cancelled ${when}`).toMatchObject({ told: true });
      expect(outcomes, `cancelled ${when}`).toEqual([]);
    }
    const over = await cancelAt("after", calm.count);
    expect(over.outcome.status).toBe("completed");
  },
);

test.each(["before", "after"] as const)(
  "H45 a cancel %s every operation of any kind closes timers and waits, and a late result is dropped",
  async (moment) => {
    const calm = await cancelAt(moment, 0, /./);
    expect(calm.outcome.status).toBe("completed");
    for (let at = moment === "before" ? 2 : 1; at <= calm.count; at++) {
      const when = `${moment} operation ${at}`;
      const { outcome, kinds, bodies, atCancel, outcomes } = await cancelAt(moment, at, /./);
      // The last operations come when the run is over.
      if (outcome.status === "completed") {
        expect(kinds.at(-1), when).toBe("run.completed");
        continue;
      }
      expect(outcome.status, when).toBe("cancelled");
      expect(kinds.indexOf("run.cancelled"), `nothing is written after it, ${when}`).toBe(kinds.length - 1);
      expect(bodies.length - atCancel!.begun, when).toBeLessThanOrEqual(moment === "after" ? 1 : 0);
      for (const body of atCancel!.running) expect(body, when).toMatchObject({ told: true });
      expect(outcomes, `no timer and no wait is left to wake it, ${when}`).toEqual([]);
    }
  },
);

test.each(["told by the storage", "by polling"])(
  "H45 a live driver in a long body hears of a cancel, %s",
  async (how) => {
    const on = lab();
    const storage = how === "by polling" ? silent(on) : on.storage;
    const { promise: aborted, resolve } = Promise.withResolvers<number>();
    const flow = durable("long", async (ctx) => {
      await ctx.step("work", ({ signal }) => {
        signal.addEventListener("abort", () => resolve(on.world.now()));
        return pause(on.world, 3_600_000);
      });
      return ctx.step("after", () => 1);
    });
    const driving = flow.with({ ...on, storage }).run(undefined, { id: "r" });
    await on.world.advance(60_000);
    const at = on.world.now();
    const cancelled = await flow.with({ ...on }).cancel("r", { reason: "enough" });
    expect(cancelled).toMatchObject({ status: "cancelled", recorded: false });
    expect(await on.world.run(driving)).toMatchObject({ status: "cancelled" });
    expect((await aborted) - at).toBeLessThanOrEqual(10_000);
    await on.world.advance(7_200_000);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toEqual(["run.started", "run.cancelled"]);
  },
);

test("cancel is terminal: catch and finally of the workflow do not run, ctx.signal aborts, result() rejects", async () => {
  const on = lab();
  const seen: string[] = [];
  const flow = durable("guarded", async (ctx) => {
    ctx.signal.addEventListener("abort", () => seen.push((ctx.signal.reason as DurableError).code));
    try {
      await ctx.sleep("30s");
    } catch {
      seen.push("catch");
    } finally {
      seen.push("finally");
    }
  }).with({ ...on });
  const run = await flow.start(undefined, { id: "r" });
  await on.world.advance(1_000);
  expect(await run.cancel({ reason: "enough" })).toMatchObject({ status: "cancelled" });
  expect(await failureOf(on.world.run(run.result()))).toMatchObject({ code: "cancelled" });
  await on.world.advance(60_000);
  expect(seen).toEqual(["cancelled"]);
  expect((await run.entries()).at(-1)).toMatchObject({ kind: "run.cancelled", reason: "enough" });
  expect(await runOf(on, flow)).toMatchObject({ status: "cancelled", recorded: true });
});

test("a cancel of a run that has ended changes nothing, and says how it ended", async () => {
  const on = lab();
  const good = durable("good", () => "done").with({ ...on });
  await on.world.run(good.run(undefined, { id: "r" }));
  const before = await batchesOf(on);
  expect(await good.cancel("r")).toMatchObject({ status: "completed", output: "done", recorded: true });
  expect(await good.cancel("r")).toMatchObject({ status: "completed" });
  expect(await batchesOf(on)).toEqual(before);
  const waiting = durable("waiting", (ctx) => ctx.suspend("ok")).with({ ...on });
  await on.world.run(waiting.run(undefined, { id: "r2" }));
  expect(await waiting.cancel("r2")).toMatchObject({ status: "cancelled", recorded: false });
  expect(await waiting.cancel("r2")).toMatchObject({ status: "cancelled", recorded: true });
  expect((await batchesOf(on, "r2")).length).toBe(3);
  expect(await failureOf(waiting.cancel("r3"))).toMatchObject({ code: "not-found" });
});

test("a cancel and an answer at one time: one of the two stands, and both are told the truth", async () => {
  for (let ms = 0; ms <= 6; ms++) {
    const on = lab();
    const flow = durable("approval", (ctx) => ctx.suspend("ok"));
    const token = tokenOf(await runOf(on, flow));
    const slow = hooked(on.storage, () => pause(on.world, 1));
    const cancelling = flow.with({ ...on, storage: hooked(on.storage, () => pause(on.world, 1)) });
    const answered = flow.with({ ...on, storage: slow }).resume(token, "yes");
    const cancelled = pause(on.world, ms).then(() => cancelling.cancel("r"));
    const [answer, cancel] = await on.world.run(Promise.all([answered, cancelled]));
    const end = await flow
      .with({ ...on })
      .get("r")
      .outcome();
    expect(["completed", "cancelled"]).toContain(end.status);
    expect(cancel.status, `after ${ms} ms`).toBe(end.status);
    expect(answer.outcome, `after ${ms} ms`).toMatchObject({ status: end.status });
    expect([end.status, answer.status]).not.toEqual(["completed", "expired"]);
  }
});

test("a run whose driver died is cancelled at once, lease or not", async () => {
  const on = lab();
  const flow = durable("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
  await dieAt(on, flow, 2, { quiet: 10 });
  expect(await flow.with({ ...on }).cancel("r")).toMatchObject({ status: "cancelled" });
  expect(outputOf(await runOf(on, flow))).toMatchObject({ status: "cancelled" });
});
