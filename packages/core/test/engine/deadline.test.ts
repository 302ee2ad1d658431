import { createApp, durable, DurableError, type Context, type World, type Duration } from "@durable/core";
import { crashEverywhere, recorder } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

const day = 86_400_000;

describe("the deadline of a run", () => {
  test("fails a run that waits, and a worker fires it", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("ok"), { deadline: "2 days" });
    const start = on.world.now();
    const outcome = await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "suspended", wakeAt: start + 2 * day });
    const { until, heard } = open(on, [flow], { interval: "1m" });
    await until(1);
    expect(heard).toMatchObject([{ status: "failed", error: { code: "deadline" } }]);
    expect(on.world.now() - start).toBeGreaterThanOrEqual(2 * day);
    expect((await batchesOf(on))[0]).toContain(`"deadline":${start + 2 * day}`);
    expect((await on.storage.list()).runs).toMatchObject([{ status: "failed", wakeAt: null }]);
  });

  test("may be a date", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend("ok"), { deadline: "1 day" }).with(on);
    const deadline = new Date(on.world.now() + 2 * day);
    const outcome = await on.world.run(flow.run(undefined, { id: "r", deadline }));
    expect(outcome).toMatchObject({ status: "suspended", wakeAt: deadline.getTime() });
  });

  test("aborts work under way, names it as abandoned, and drops its result", async () => {
    const on = lab();
    let reason: unknown;
    let seen: unknown = "nothing";
    const flow = durable("slow", async (ctx) => {
      try {
        await ctx.step("work", async ({ signal }) => {
          signal.addEventListener("abort", () => (reason = signal.reason));
          await pause(on.world, 10_000);
          return "late";
        });
      } catch (error) {
        seen = error;
      } finally {
        if (seen === "nothing") seen = "finally";
      }
    });
    const outcome = await on.world.run(flow.with(on).run(undefined, { id: "r", deadline: "3s" }));
    expect(outcome).toMatchObject({ status: "failed", abandoned: ["work"], error: { code: "deadline" } });
    expect(DurableError.is(reason, "deadline")).toBe(true);
    await on.world.advance(60_000);
    expect(seen, "the code sees nothing").toBe("nothing");
    expect(await kindsOf(flow.with(on).get("r"))).toEqual(["run.started", "run.failed"]);
  });

  test("of start is stronger than that of the workflow, and a run that ends in time does not notice", async () => {
    const on = lab();
    const flow = durable("nap", (ctx) => ctx.sleep("5s"), { deadline: "1s" }).with(on);
    expect((await on.world.run(flow.run())).status).toBe("failed");
    expect((await on.world.run(flow.run(undefined, { deadline: "1m" }))).status).toBe("completed");
    const run = await flow.start(undefined, { deadline: "10s" });
    await on.world.run(run.result());
  });

  test("an answer that was recorded before it goes first, and a late one is expired", async () => {
    const on = lab();
    const flow = durable("ask", (ctx) => ctx.suspend<string>("ok"), { deadline: "1h" });
    const app = createApp({ ...on, workflows: [flow] });
    for (const [id, late] of [
      ["early", -1],
      ["late", 1],
    ] as const) {
      const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id })));
      await on.world.advance(3_600_000 + late);
      const { status } = await app.resume(token, "yes", { drive: false });
      expect(status).toBe(late < 0 ? "accepted" : "expired");
      await on.world.advance(10);
      const outcome = await on.world.run(app.advance(id));
      expect(late < 0 ? outputOf(outcome) : outcome.status).toBe(late < 0 ? "yes" : "failed");
    }
  });

  test("after such an answer no further work begins", async () => {
    const on = lab();
    let ran = 0;
    const flow = durable(
      "ask",
      async (ctx) => {
        await ctx.suspend("ok");
        return ctx.step("more", () => ++ran);
      },
      { deadline: "1h" },
    );
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));
    await app.resume(token, "yes", { drive: false });
    await on.world.advance(3_600_001);
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "failed",
      error: { code: "deadline" },
      abandoned: ["more"],
    });
    expect(ran).toBe(0);
  });

  test("a timer that fires early is set again", async () => {
    const on = lab();
    let early = 0;
    const world: World = {
      ...on.world,
      timer: (ms, fire) => {
        // The first timers of the deadline come a little too soon.
        const isEarly = ms > 2_000 && ms <= 3_000 && early < 3;
        if (isEarly) early += 1;
        return on.world.timer(isEarly ? ms - 5 : ms, fire);
      },
    };
    const flow = durable("slow", (ctx) => ctx.step("work", () => pause(on.world, 60_000)));
    const outcome = await on.world.run(flow.with({ ...on, world }).run(undefined, { deadline: "3s" }));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "deadline" } });
    expect(early).toBeGreaterThan(0);
  });

  test("does not end a run whose code has ended, and whose work lingers", async () => {
    const on = lab();
    const flow = durable("hasty", async (ctx) => {
      void ctx.step("late", () => pause(on.world, 4_000));
      return ctx.step("s", () => "in time");
    });
    const outcome = await on.world.run(flow.with(on).run(undefined, { deadline: "1s" }));
    expect(outputOf(outcome)).toBe("in time");
  });

  test("cancels the children before the run ends", async () => {
    const on = lab();
    const child = durable("child", (ctx) => ctx.suspend("ok"));
    const flow = durable("parent", (ctx) => ctx.child(child), { deadline: "1h" });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    await on.world.advance(3_600_000);
    const app = createApp({ ...on, workflows: [flow, child] });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "failed", abandoned: ["child"] });
    const { runs } = await on.storage.list({ workflow: "child" });
    expect(runs).toMatchObject([{ status: "cancelled" }]);
  });

  test("belongs to the run: a chapter keeps it, and a fork has its own", async () => {
    const on = lab();
    const flow = durable(
      "story",
      async (ctx, n: number): Promise<unknown> => {
        await ctx.sleep("40m");
        await ctx.step("s", () => n);
        return n === 3 ? "done" : ctx.continueAs(n + 1);
      },
      { deadline: "1h" },
    ).with({ ...on, patience: "1 day" });
    const start = on.world.now();
    const outcome = await on.world.run(flow.run(1, { id: "r" }));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "deadline" } });
    expect(on.world.now() - start).toBe(3_600_000);
    const fork = await flow.fork("r", { from: "s", chapter: 1 });
    const [first] = (await fork.entries()).filter(({ kind }) => kind === "run.forked");
    expect(first).toMatchObject({ deadline: on.world.now() + 3_600_000 });
  });

  test("`result()` of a run that waits rejects as before, although the deadline would wake it", async () => {
    const on = lab();
    const run = await durable("ask", (ctx) => ctx.suspend("ok"), { deadline: "2 days" })
      .with(on)
      .start();
    expect(await on.world.run(failureOf(run.result()))).toMatchObject({ code: "suspended" });
  });

  test.each(["soon", -1, Number.NaN])("%s is refused when the workflow is defined", (deadline) => {
    expect(() => durable("w", () => 1, { deadline: deadline as Duration })).toThrow(
      /deadline of workflow "w"/,
    );
  });
});

/** Two branches; `slow` never ends by itself. */
const branches = (on: Lab) => ({
  quick: (c: Context) => c.step("q", () => "q"),
  slow: (c: Context) => c.step("s", () => pause(on.world, 10 * day)),
});

describe("the deadline of a group or a child", () => {
  test.each(["parallel", "race", "map"] as const)("%s rejects with it", async (kind) => {
    const on = lab();
    const flow = durable("group", async (ctx) => {
      const deadline = "1h";
      const { slow } = branches(on);
      try {
        if (kind === "parallel") await ctx.parallel(branches(on), { deadline });
        if (kind === "race") await ctx.race({ slow, other: slow }, { deadline });
        if (kind === "map") await ctx.map([1, 2], slow, { deadline });
        return "in time";
      } catch (error) {
        return [
          DurableError.is(error) && error.code,
          DurableError.is(error) && error.details["key"],
          ctx.now(),
        ];
      }
    }).with({ ...on, patience: "1y" });
    const start = on.world.now();
    const end = start + 3_600_000;
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toEqual(["deadline", kind, end]);
    const kinds = await kindsOf(flow.get("r"));
    expect(kinds).toContain(`sleep.fired ${kind}[]/deadline`);
  });

  test("its branches are given up: work under way is aborted, and no more of it begins", async () => {
    const on = lab();
    const began: string[] = [];
    let reason: unknown;
    const flow = durable("group", async (ctx) => {
      const branch = async (c: Context): Promise<void> => {
        await c.step("work", async ({ signal }) => {
          signal.addEventListener("abort", () => (reason = signal.reason));
          began.push("work");
          await pause(on.world, 2 * 3_600_000);
        });
        await c.step("more", () => began.push("more"));
      };
      await ctx.parallel({ branch }, { deadline: "1h" }).catch(() => {});
      await ctx.step("long after", () => pause(on.world, day));
    }).with({ ...on, patience: "1y" });
    await on.world.run(flow.run(undefined, { id: "r" }));
    expect(began).toEqual(["work"]);
    expect(reason).toMatchObject({ code: "deadline" });
    expect(await kindsOf(flow.get("r"))).not.toContain("step.completed parallel[branch]/more");
  });

  test("a group that is decided in time leaves nothing behind", async () => {
    const on = lab();
    const flow = durable("group", (ctx) =>
      ctx.parallel({ a: (c) => c.step("x", () => 1), b: (c) => c.sleep("1s") }, { deadline: "1h" }),
    ).with(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: { a: 1, b: undefined },
    });
    expect(on.world.warnings).toEqual([]);
  });

  test("a run parks for the deadline of its group, and replay sees the same", async () => {
    const on = lab();
    const flow = durable("group", async (ctx) => {
      try {
        return await ctx.parallel([(c) => c.suspend<string>("ok")], { deadline: "30s" });
      } catch (error) {
        return (error as DurableError).code;
      }
    });
    const first = await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    expect(first).toMatchObject({ status: "suspended", wakeAt: on.world.now() + 30_000 });
    const token = tokenOf(first);
    const app = createApp({ ...on, workflows: [flow] });
    await on.world.advance(30_000);
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("deadline");
    expect((await app.resume(token, "late", { drive: false })).status).toBe("expired");
  });

  test("a child is cancelled, and the call rejects", async () => {
    const on = lab();
    const child = durable("child", (ctx) => ctx.suspend("ok"));
    const flow = durable("parent", async (ctx) => {
      try {
        return await ctx.child(child, undefined, { deadline: "1h" });
      } catch (error) {
        return `${(error as DurableError).code} ${String((error as DurableError).details["key"])}`;
      }
    });
    await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    const app = createApp({ ...on, workflows: [flow, child] });
    await on.world.advance(3_600_000);
    expect(outputOf(await on.world.run(app.advance("r")))).toBe("deadline child");
    expect((await on.storage.list({ workflow: "child" })).runs).toMatchObject([{ status: "cancelled" }]);
  });

  test("a child that ends in time is not touched", async () => {
    const on = lab();
    const child = durable("child", (ctx) => ctx.step("s", () => 7));
    const flow = durable("parent", (ctx) => ctx.child(child, undefined, { deadline: "1h" }));
    const outcome = await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toBe(7);
    expect((await on.storage.list({ workflow: "child" })).runs).toMatchObject([{ status: "completed" }]);
  });
});

describe("crashEverywhere", () => {
  test("deadlines of a run, a group and a child", { timeout: 300_000 }, async () => {
    const effects = recorder();
    const child = durable("child", (ctx) => ctx.suspend("never"));
    const flow = durable(
      "bounded",
      async (ctx) => {
        const paid = await ctx.step("pay", ({ idempotencyKey }) => {
          effects.record("pay", { key: idempotencyKey });
          return "paid";
        });
        const group = await ctx
          .parallel({ a: (c) => c.sleep("3h"), b: (c) => c.step("b", () => 1) }, { deadline: "1h" })
          .catch((error: DurableError) => error.code);
        const below = await ctx
          .child(child, undefined, { deadline: "1h" })
          .catch((error: DurableError) => error.code);
        await ctx.step("note", () => [paid, group, below]);
        await ctx.sleep("10 days");
      },
      { deadline: "5 days" },
    );
    const report = await crashEverywhere(flow, {
      ends: "failed",
      effects,
      // The message has the time of the deadline, and a run that begins later has a later one.
      compare: false,
      faults: inject("full") ? ["crash-before", "crash-after", "lose-reply"] : ["crash-after"],
    });
    expect(report.ok).toBe(true);
    expect(report.calm.outcome).toMatchObject({ status: "failed", error: { code: "deadline" } });
  });
});
