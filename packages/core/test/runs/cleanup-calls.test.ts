/** What a clean-up may call, and how it meets pauses, deadlines, children and other processes. */

import { createApp, createWorker, durable, type Context, type Workflow } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, kindsOf, lab, type Lab } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";

const child = durable("child", (ctx, n: number) => ctx.step("n", () => n + 1));

/** Cancels a run that waits, and lets it clean up. */
async function cancelled(on: Lab, flow: Workflow<unknown, unknown>) {
  const bound = flow.with(on);
  await runOf(on, flow);
  await on.world.run(bound.cancel("r"));
  await failureOf(on.world.run(bound.get("r").result()));
  return bound.get("r").outcome();
}

function waiting(cleanUp: (c: Context) => unknown): Workflow<unknown, unknown> {
  return durable("cleans", async (ctx) => {
    ctx.onCancel(cleanUp);
    await ctx.suspend("ok");
  });
}

describe("calls of a clean-up", () => {
  test.each([
    ["at once", async () => {}],
    [
      "after some turns of promises",
      async () => void (await Promise.all([Promise.resolve(1), Promise.resolve(2)])),
    ],
  ])("of one name at the same time, %s, are calls of its own code", async (_, before) => {
    const on = lab();
    const log: unknown[] = [];
    const flow = waiting(async (c) => {
      if (log.length === 0) await before();
      log.push(await Promise.all([c.step("x", () => 1), c.step("x", () => 2)]));
    });
    expect(await cancelled(on, flow)).toMatchObject({ status: "cancelled" });
    expect(log).toEqual([[1, 2]]);
    expect(on.world.warnings).toEqual([]);
    // One park, by the wait of the code: the clean-up has not waited for anything.
    const kinds = await kindsOf(flow.with(on).get("r"));
    expect(kinds.filter((kind) => kind === "run.suspended")).toHaveLength(1);
  });

  test("spawn a run that goes on, or one that ends with the run", async () => {
    const on = lab();
    const slow = durable("slow", (ctx) => ctx.sleep("1 day"));
    const ids: string[] = [];
    const flow = waiting(async (c) => {
      ids.push((await c.spawn(child, 1)).runId);
      ids.push((await c.spawn(slow, undefined, { onParentEnd: "cancel" })).runId);
    });
    expect(await cancelled(on, flow)).toMatchObject({ status: "cancelled" });
    const app = createApp({ ...on, workflows: [child, slow, flow] });
    await on.world.run(app.sweep());
    expect(await app.get(ids[0]!).outcome()).toMatchObject({ status: "completed", output: 2 });
    expect(await app.get(ids[1]!).outcome()).toMatchObject({ status: "cancelled" });
  });

  test("tag and report, once, and others see it", async () => {
    const on = lab();
    const flow = waiting(async (c) => {
      c.tag({ stage: "cleaned" });
      c.report({ cleaned: true });
      await c.step("x", () => 1);
    });
    await cancelled(on, flow);
    const kinds = await kindsOf(flow.with(on).get("r"));
    expect(kinds.filter((kind) => /^(tag|report)\.set/.test(kind))).toHaveLength(2);
    expect((await on.storage.list()).runs).toMatchObject([{ tags: { stage: "cleaned" } }]);
    expect(await flow.with(on).get("r").outcome()).toMatchObject({ report: { cleaned: true } });
  });

  test("receive is refused, and the error says what to use", async () => {
    const on = lab();
    const errors: unknown[] = [];
    const flow = waiting(async (c) => {
      try {
        await c.receive("note");
      } catch (error) {
        errors.push(error);
      }
      for await (const _ of c.messages("note")) errors.push("a message");
    });
    expect(await cancelled(on, flow)).toMatchObject({
      status: "cancelled",
      error: { code: "cleanup-failed" },
    });
    expect(errors).toMatchObject([{ code: "wrong-context" }]);
    expect((errors[0] as Error).message).toContain("ctx.receive()");
  });
});

describe("a paused run that is cancelled", () => {
  test("without a clean-up ends at once", async () => {
    const on = lab();
    const flow = durable("plain", (ctx) => ctx.suspend("ok")).with(on);
    await runOf(on, flow);
    await flow.get("r").pause();
    expect(await on.world.run(flow.cancel("r", { reason: "enough" }))).toMatchObject({
      status: "cancelled",
      reason: "enough",
    });
  });

  test("with a clean-up is paused no longer, and cleans up", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = waiting((c) => c.step("x", () => void log.push("cleaned")));
    const bound = flow.with(on);
    await runOf(on, flow);
    await bound.get("r").pause({ reason: "a while" });
    expect(await bound.get("r").outcome()).toMatchObject({ status: "paused" });
    await on.world.run(bound.cancel("r"));
    await on.world.advance(1_000);
    expect(log).toEqual(["cleaned"]);
    expect(await bound.get("r").outcome()).toMatchObject({ status: "cancelled" });
  });
});

describe("a deadline in a run with compensations", () => {
  test("undoes what has begun, once, and the run has failed by its deadline", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable(
      "late",
      async (ctx) => {
        await ctx.step("book", () => void log.push("book"), { compensate: () => void log.push("undo book") });
        await ctx.step("pay", () => void log.push("pay"), { compensate: () => void log.push("undo pay") });
        await ctx.suspend("ok");
      },
      { deadline: "1h" },
    );
    const bound = flow.with(on);
    await runOf(on, flow);
    const app = createApp({ ...on, workflows: [flow] });
    const workers = [createWorker(app), createWorker(createApp({ ...on, workflows: [flow] }))];
    await on.world.advance(2 * 3_600_000);
    for (const worker of workers) await on.world.run(worker.stop());
    expect(log).toEqual(["book", "pay", "undo pay", "undo book"]);
    expect(await bound.get("r").outcome()).toMatchObject({ status: "failed", error: { code: "deadline" } });
    expect((await kindsOf(bound.get("r"))).slice(-5)).toEqual([
      "run.suspended",
      "run.failing",
      "step.completed pay/compensate",
      "step.completed book/compensate",
      "run.failed",
    ]);
    await expect(bound.get("r").retry()).rejects.toMatchObject({ code: "retry-refused" });
  });
});

test("a parent and its child both clean up: the child is cancelled first, and each clean-up runs once", async () => {
  const on = lab();
  const log: string[] = [];
  const below = durable("below", async (ctx) => {
    ctx.onCancel((c) => c.step("tidy", () => void log.push("child")));
    await ctx.suspend("ok");
  });
  const flow = durable("above", async (ctx) => {
    ctx.onCancel(async (c) => {
      await c.sleep("10s");
      await c.step("tidy", () => void log.push("parent"));
    });
    await ctx.child(below, undefined);
  });
  const app = createApp({ ...on, workflows: [flow, below] });
  await on.world.run((await app.start("above", undefined, { id: "r" })).result()).catch(() => {});
  await on.world.run(app.cancel("r", { reason: "enough" }));
  await on.world.advance(5 * 60_000);
  expect(await app.get("r").outcome()).toMatchObject({ status: "cancelled", reason: "enough" });
  const { runs } = await app.list({ workflow: "below" });
  expect(runs).toMatchObject([{ status: "cancelled" }]);
  expect(log).toEqual(["child", "parent"]);
  const order = async (id: string, kind: string): Promise<number> =>
    (await app.get(id).entries()).find((entry) => entry.kind === kind)?.at ?? Infinity;
  expect(await order(runs[0]!.runId, "run.cancelling")).toBeLessThanOrEqual(
    await order("r", "run.cancelling"),
  );
});

test("flow.run without an app drives a run of a paused workflow; an app does not", async () => {
  const on = lab();
  const flow = durable("w", (ctx) => ctx.step("x", () => 1));
  const app = createApp({ ...on, workflows: [flow] });
  await app.pause("w", { reason: "release" });
  const run = await app.start("w", undefined, { id: "r1" });
  await on.world.advance(10_000);
  expect((await run.entries()).map(({ kind }) => kind)).toEqual(["run.started"]);
  expect(await on.world.run(app.advance("r1"))).toMatchObject({ status: "paused", reason: "release" });
  expect(await on.world.run(flow.with(on).run(undefined, { id: "r2" }))).toMatchObject({
    status: "completed",
  });
});
