import { createApp, createWorker, durable, type Context, type Workflow } from "@durable/core";
import { handOver, settled } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";
import { failureOf, hooked, kindsOf, lab, pause, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "../support/behaviour-lives.ts";

/** Waits for an answer, with a clean-up of two steps. */
function waits(log: string[]): Workflow<unknown, unknown> {
  return durable("waits", async (ctx) => {
    ctx.onCancel(async (c, { reason }) => {
      await c.step("stop", () => void log.push(`stop ${reason ?? ""}`.trim()));
      await c.step("tell", () => void log.push("tell"));
    });
    try {
      await ctx.step("begin", () => void log.push("begin"));
      await ctx.suspend("ok");
    } catch {
      log.push("catch");
    } finally {
      log.push("finally");
    }
  });
}

describe("ctx.onCancel", () => {
  test("a cancel lets the clean-up run, and then the run is cancelled; catch and finally see nothing", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = waits(log).with(on);
    await runOf(on, flow);
    const outcome = await on.world.run(flow.cancel("r", { reason: "not needed" }));
    expect(outcome).toMatchObject({
      status: "running",
      recorded: false,
      cancelling: { reason: "not needed" },
    });
    const failure = await failureOf(on.world.run(flow.get("r").result()));
    expect(failure).toMatchObject({ code: "cancelled", details: { reason: "not needed" } });
    expect((failure as Error).message).toBe("Run r was cancelled: not needed");
    expect(log).toEqual(["begin", "stop not needed", "tell"]);
    expect(await kindsOf(flow.get("r"))).toEqual([
      "run.started",
      "cleanup.opened onCancel",
      "step.completed begin",
      "suspend.opened ok",
      "run.suspended",
      "run.cancelling",
      "cleanup.started onCancel",
      "step.completed onCancel/stop",
      "step.completed onCancel/tell",
      "cleanup.completed onCancel",
      "run.cancelled",
    ]);
    expect(await flow.get("r").outcome()).toEqual({
      runId: "r",
      recorded: true,
      state: "cancelled",
      status: "cancelled",
      reason: "not needed",
    });
  });

  test("a second cancel drives a clean-up that has no driver, and records nothing", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = waits(log);
    await runOf(on, flow.with(on));
    // Without the code, nothing drives the run.
    await on.world.run(createApp({ ...on, workflows: [] }).cancel("r", { reason: "not needed" }));
    await on.world.advance(60_000);
    expect(log).toEqual(["begin"]);
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.run(app.cancel("r", { reason: "again" }));
    await on.world.run(settled(app, "r"));
    expect(log).toEqual(["begin", "stop not needed", "tell"]);
    expect(await app.get("r").outcome()).toMatchObject({ status: "cancelled", reason: "not needed" });
  });

  test("a process that hands over lets a step finish, and begins no other", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("slow", async (ctx) => {
      await ctx.step("one", async () => {
        await pause(on.world, 5_000);
        log.push("one");
      });
      await ctx.step("two", () => void log.push("two"));
    });
    const app = createApp({ ...on, workflows: [flow] });
    await app.start("slow", undefined, { id: "r" });
    await on.world.advance(1_000);
    await on.world.run(handOver(app));
    expect(log).toEqual(["one"]);
    expect(await on.world.run(createApp({ ...on, workflows: [flow] }).advance("r"))).toMatchObject({
      status: "completed",
    });
    expect(log).toEqual(["one", "two"]);
  });

  test("without one, a cancel is terminal at once, and its batch is what it always was", async () => {
    const on = lab();
    const flow = durable("plain", (ctx) => ctx.suspend("ok")).with(on);
    await runOf(on, flow);
    expect(await on.world.run(flow.cancel("r", { reason: "no" }))).toMatchObject({
      status: "cancelled",
      reason: "no",
    });
    const last = JSON.parse((await batchesOf(on)).at(-1) ?? "") as { v: number; entries: object[] };
    expect(last.entries).toEqual([{ at: expect.any(Number), kind: "run.cancelled", reason: "no" }]);
  });

  test("the registration is durable before work begins, and goes with the wait that follows it", async () => {
    const on = lab();
    let appends = 0;
    const storage = hooked(on.storage, (operation, moment) => {
      if (operation === "append" && moment === "after") appends += 1;
    });
    const begun: number[] = [];
    const flow = durable("order", async (ctx) => {
      ctx.onCancel(() => {});
      await ctx.step("work", () => void begun.push(appends));
      ctx.onCancel(() => {});
      await ctx.step("announced", () => void begun.push(appends), { onUncertain: "retry" });
      ctx.onCancel(() => {});
      await ctx.suspend("ok");
    });
    await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
    expect(begun, "the start of the run and the registration; with the start of the step").toEqual([2, 4]);
    const texts = await batchesOf(on);
    expect(texts).toHaveLength(6);
    expect(texts[3]).toContain('"cleanup.opened","key":"onCancel#2"');
    expect(texts[3]).toContain("step.started");
    expect(texts.at(-1)).toContain('"cleanup.opened","key":"onCancel#3"');
    expect(texts.at(-1)).toContain("run.suspended");
  });

  test("a second cancel changes nothing, and an answer is refused as expired", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("slow", async (ctx) => {
      ctx.onCancel((c) => c.step("slow", () => pause(on.world, 10_000)));
      await ctx.suspend("ok");
      log.push("answered");
    }).with(on);
    const token = tokenOf(await runOf(on, flow));
    await on.world.run(flow.cancel("r", { reason: "first" }));
    await on.world.advance(100);
    const length = (await batchesOf(on)).length;
    expect(await on.world.run(flow.cancel("r", { reason: "second" }))).toMatchObject({
      cancelling: { reason: "first" },
    });
    expect((await batchesOf(on)).length).toBe(length);
    expect(await on.world.run(flow.resume(token, 1))).toMatchObject({ status: "expired" });
    await on.world.advance(20_000);
    expect(await flow.get("r").outcome()).toMatchObject({ status: "cancelled", reason: "first" });
    expect(log).toEqual([]);
  });

  test("clean-ups run in reverse order, with compensations in their places", async () => {
    const on = lab();
    const log: string[] = [];
    const undo = ({ key }: { key: string }): void => void log.push(key);
    const flow = durable("mixed", async (ctx) => {
      ctx.onCancel(() => void log.push("first"));
      await ctx.step("a", () => 1, { compensate: undo });
      ctx.onCancel(() => void log.push("second"), { name: "later" });
      await ctx.step("b", () => 1, { compensate: undo });
      await ctx.suspend("ok");
    }).with(on);
    await runOf(on, flow);
    await on.world.run(flow.cancel("r"));
    await failureOf(on.world.run(flow.get("r").result()));
    expect(log).toEqual(["b/compensate", "second", "a/compensate", "first"]);
  });

  test("a failure runs no clean-up: it is no cancel", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("fails", async (ctx) => {
      ctx.onCancel(() => void log.push("clean-up"));
      await ctx.step("a", () => 1, { compensate: () => void log.push("undo") });
      throw new Error("no");
    });
    expect(await runOf(on, flow)).toMatchObject({ status: "failed" });
    expect(log).toEqual(["undo"]);
  });

  test("a clean-up that fails, and one that takes too long, are recorded; the run is cancelled all the same", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("bad", async (ctx) => {
      ctx.onCancel(() => void log.push("last"));
      ctx.onCancel(
        async (c) => {
          await c.step("hangs", ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", no)));
        },
        { name: "slow", timeout: "5s" },
      );
      ctx.onCancel(
        () => {
          throw new Error("broken");
        },
        { name: "broken" },
      );
      await ctx.suspend("ok");
    }).with(on);
    await runOf(on, flow);
    await on.world.run(flow.cancel("r"));
    await failureOf(on.world.run(flow.get("r").result()));
    const outcome = await flow.get("r").outcome();
    expect(outcome).toMatchObject({
      status: "cancelled",
      error: { code: "cleanup-failed", details: { key: "broken" } },
    });
    expect(log).toEqual(["last"]);
    const failed = (await kindsOf(flow.get("r"))).filter((line) => line.startsWith("cleanup.failed"));
    expect(failed).toEqual(["cleanup.failed broken", "cleanup.failed slow"]);
  });

  test("work that runs gets its signal and a bounded time; what it returns then is recorded, not delivered", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("busy", async (ctx) => {
      ctx.onCancel((c) => c.step("clean", () => void log.push("clean")));
      const value = await ctx.step("work", async ({ signal }) => {
        signal.addEventListener("abort", () => log.push("abort"));
        await pause(on.world, 2_000);
        return "done";
      });
      log.push(value);
    }).with(on);
    await flow.start(undefined, { id: "r" });
    await on.world.advance(1_000);
    await on.world.run(flow.cancel("r"));
    await failureOf(on.world.run(flow.get("r").result()));
    expect(log).toEqual(["abort", "clean"]);
    expect(await kindsOf(flow.get("r"))).toContain("step.completed work");
  });

  test("a cancel after the code has failed leaves the failure", async () => {
    const on = lab();
    const flow = durable("failed", async (ctx) => {
      ctx.onCancel(() => {});
      await ctx.step("a", () => 1, { compensate: () => pause(on.world, 10_000) });
      throw new Error("no");
    }).with(on);
    await flow.start(undefined, { id: "r" });
    await on.world.advance(1_000);
    expect(await on.world.run(flow.cancel("r"))).toMatchObject({
      status: "running",
      failing: { code: "run-failed" },
    });
    await on.world.advance(20_000);
    expect(await flow.get("r").outcome()).toMatchObject({ status: "failed" });
  });

  test("a clean-up has steps, groups, sleeps and children; waits, chapters and the ctx of the code are refused", async () => {
    const on = lab();
    const log: unknown[] = [];
    const child = durable("child", (ctx, n: number) => ctx.step("n", () => n + 1));
    const refused = async (work: () => unknown): Promise<void> => {
      try {
        await work();
        log.push("accepted");
      } catch (error) {
        log.push((error as { code: string }).code);
      }
    };
    const flow = durable("allowed", async (ctx) => {
      ctx.onCancel(async (c) => {
        log.push(await c.parallel({ a: (b) => b.step("x", () => 1), b: (b) => b.step("x", () => 2) }));
        await c.sleep("10s");
        log.push(await c.child(child, 1));
        await refused(() => c.suspend("wait"));
        await refused(() => c.continueAs(1));
        await refused(() => c.onCancel(() => {}));
        await refused(() => c.step("undo", () => 1, { compensate: () => {} }));
        await refused(() => ctx.step("outer", () => 1));
      });
      await ctx.suspend("ok");
    }).with(on);
    await runOf(on, flow);
    await on.world.run(flow.cancel("r"));
    await failureOf(on.world.run(flow.get("r").result()));
    expect(log).toEqual([{ a: 1, b: 2 }, 2, ...Array.from({ length: 5 }, () => "wrong-context")]);
    expect(await flow.get("r").outcome()).toMatchObject({ status: "cancelled" });
    expect(await flow.get("r").outcome()).not.toHaveProperty("error");
  });

  test("force ends the run at once, without clean-up, and names what stays", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = durable("forced", async (ctx) => {
      ctx.onCancel(() => void log.push("clean-up"));
      await ctx.step("a", () => 1, { compensate: () => void log.push("undo") });
      await ctx.suspend("ok");
    }).with(on);
    await runOf(on, flow);
    const outcome = await on.world.run(flow.cancel("r", { reason: "now", force: true }));
    expect(outcome).toMatchObject({ status: "cancelled", reason: "now", uncompensated: ["a"] });
    await on.world.advance(10_000);
    expect(log).toEqual([]);
    const failure = await failureOf(on.world.run(flow.get("r").result()));
    expect((failure as Error).message).toContain('Not undone: "a".');
  });

  test("a worker cleans up a run that another process cancelled", async () => {
    const on = lab();
    const log: string[] = [];
    const flow = waits(log);
    await runOf(on, flow.with(on));
    await on.world.run(createApp({ ...on, workflows: [] }).cancel("r", { reason: "from outside" }));
    const worker = createWorker(createApp({ ...on, workflows: [flow] }));
    await on.world.advance(60_000);
    await on.world.run(worker.stop());
    expect(await flow.with(on).get("r").outcome()).toMatchObject({
      status: "cancelled",
      reason: "from outside",
    });
    expect(log).toEqual(["begin", "stop from outside", "tell"]);
  });

  test("children are cancelled first, and clean up; a parent without a clean-up does not wait for theirs", async () => {
    const on = lab();
    const log: string[] = [];
    const child = durable("child", async (ctx) => {
      ctx.onCancel((c) => c.step("clean", () => void log.push("child")));
      await ctx.suspend("ok");
    });
    const flow = durable("parent", (ctx: Context) => ctx.child(child, undefined));
    const app = createApp({ ...on, workflows: [flow, child] });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    expect(await on.world.run(app.cancel("r"))).toMatchObject({ status: "cancelled" });
    await on.world.advance(1_000);
    expect(log).toEqual(["child"]);
    const { runs } = await app.list({ parent: "r" });
    expect(runs.map(({ status }) => status)).toEqual(["cancelled"]);
  });

  test("killed at any append of the clean-up, recorded steps are not repeated", async () => {
    // The first append finds that the run exists.
    for (let append = 2; ; append++) {
      const on = lab();
      const log: string[] = [];
      const flow = waits(log);
      await runOf(on, flow.with(on));
      await on.world.run(createApp({ ...on, workflows: [] }).cancel("r"));
      log.length = 0;
      const died = await dieAt(on, flow, append).then(
        () => true,
        () => false,
      );
      const outcome = await runOf(on, flow);
      expect(outcome).toMatchObject({ status: "cancelled" });
      expect(log).toEqual(["stop", "tell"]);
      const settled = (await kindsOf(flow.with(on).get("r"))).filter((line) =>
        line.startsWith("step.completed"),
      );
      expect(new Set(settled).size).toBe(settled.length);
      if (!died) {
        expect(append).toBeGreaterThan(3);
        break;
      }
    }
  });
});

test("a clean-up that the code registers behind the cancel counts for nothing, and all else is undone", async () => {
  const on = lab();
  const undone: string[] = [];
  const flow = durable("late", async (ctx) => {
    await ctx.step("book", () => 1, { compensate: () => void undone.push("book") });
    ctx.onCancel(() => void undone.push("tidy"));
    return 2;
  });
  // It dies before the registration is recorded.
  await dieAt(on, flow, 3, { fault: "crash-after" });
  const app = createApp({ ...on, workflows: [flow] });
  await on.world.run(app.cancel("r", { reason: "changed plans" }));
  const outcome = await on.world.run(app.advance("r"));
  expect([outcome.status, undone]).toEqual(["cancelled", ["book"]]);
});
