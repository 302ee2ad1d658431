import { durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause } from "../support/behaviour-lab.ts";
import { replayOf, runOf } from "../support/behaviour-lives.ts";

const kept: { ctx?: Context } = {};

describe("ctx after the end of its run", () => {
  test("does nothing, with one warning", async () => {
    const on = lab();
    const ran: string[] = [];
    const flow = durable("f", (ctx) => {
      kept.ctx = ctx;
      return "done";
    });
    expect(outputOf(await runOf(on, flow))).toBe("done");
    const { ctx } = kept;
    const calls = [
      ctx?.step("late", () => ran.push("late")),
      ctx?.sleep(1),
      ctx?.suspend("late"),
      ctx?.parallel([(c) => c.step("s", () => ran.push("branch"))]),
    ];
    let settled = 0;
    for (const call of calls) void call?.then(() => (settled += 1));
    await on.world.advance(10_000);
    expect([settled, ran]).toEqual([0, []]);
    expect(on.world.warnings).toEqual([
      'run r called ctx.step("late") after its end, so nothing happens. Await it before the workflow returns.',
    ]);
  });

  test("also of code that the run has left behind", async () => {
    const on = lab();
    const flow = durable("f", (ctx) => {
      void pause(on.world, 1_000).then(() => ctx.step("late", () => 1));
      return "done";
    });
    expect(outputOf(await runOf(on, flow))).toBe("done");
    await on.world.advance(10_000);
    expect(on.world.warnings).toEqual([expect.stringContaining('called ctx.step("late") after its end')]);
  });
});

describe("the ctx of another branch", () => {
  test("while that branch is open: it works, with one warning", async () => {
    const on = lab();
    const flow = durable("f", (ctx) => {
      const contexts: Context[] = [];
      return ctx.parallel({
        a: async (c) => {
          contexts.push(c);
          return c.step("slow", () => pause(on.world, 100));
        },
        b: async (c) => {
          await c.step("quick", () => 1);
          const other = contexts[0] as Context;
          return [await other.step("x", () => 1), await other.step("y", () => 2)];
        },
      });
    });
    expect(outputOf(await runOf(on, flow))).toEqual({ a: undefined, b: [1, 2] });
    expect(on.world.warnings).toEqual([
      'Run r called ctx.step("x") with the ctx of branch "parallel[a]" from branch "parallel[b]". Use the ctx that the function at hand was given.',
    ]);
  });

  test.each(["parallel", "race"] as const)("of a %s that is over: the call throws", async (kind) => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      const contexts: Context[] = [];
      const branches = {
        fast: (c: Context) =>
          c.step("s", () => (kind === "race" ? 1 : Promise.reject(new Error("no"))), { retry: false }),
        slow: (c: Context) => {
          contexts.push(c);
          return c.step("slow", () => pause(on.world, 100));
        },
      };
      const over = kind === "race" ? ctx.race(branches) : ctx.parallel(branches);
      await over.catch(() => {});
      const other = contexts[0] as Context;
      try {
        await other.step("x", () => 1);
        return "it went on";
      } catch (error) {
        return error;
      }
    });
    const error = outputOf(await runOf(on, flow));
    expect(error).toMatchObject({
      code: "wrong-context",
      message: `Run r called ctx.step("x") with the ctx of branch "${kind}[slow]" from the workflow. Use the ctx that the function at hand was given.`,
      details: { name: "x" },
    });
    expect(outputOf(await replayOf(on, flow))).toMatchObject({ code: "wrong-context" });
  });

  test("the outer ctx in a branch is no mistake", async () => {
    const on = lab();
    const flow = durable("f", (ctx) =>
      ctx.parallel({
        a: () => ctx.step("x", () => 1),
        b: (c) => c.parallel({ d: () => c.step("y", () => 2) }),
      }),
    );
    expect(outputOf(await runOf(on, flow))).toEqual({ a: 1, b: { d: 2 } });
    expect(on.world.warnings).toEqual([]);
  });

  test("a branch that has lost stays at its next call, without a warning", async () => {
    const on = lab();
    let after = false;
    const flow = durable("f", async (ctx) => {
      await ctx.race({
        fast: (c) => c.step("s", () => 1),
        slow: async (c) => {
          await pause(on.world, 50);
          await c.step("late", () => 1);
          after = true;
        },
      });
      return ctx.step("end", () => pause(on.world, 500));
    });
    await runOf(on, flow);
    expect(after).toBe(false);
    expect(on.world.warnings).toEqual([]);
  });
});

describe("ctx inside the work of a step", () => {
  const uses: [string, string, (ctx: Context) => unknown][] = [
    ["step", 'ctx.step("inner")', (ctx) => ctx.step("inner", () => 1)],
    ["sleep", 'ctx.sleep("sleep")', (ctx) => ctx.sleep(1)],
    ["suspend", 'ctx.suspend("inner")', (ctx) => ctx.suspend("inner")],
    ["stream", 'ctx.stream("inner")', (ctx) => ctx.stream("inner", () => [1])],
    ["parallel", 'ctx.parallel("parallel")', (ctx) => ctx.parallel([() => 1])],
    ["race", 'ctx.race("race")', (ctx) => ctx.race({ a: () => 1 })],
    ["map", 'ctx.parallel("map")', (ctx) => ctx.map([1], () => 1)],
    ["child", 'ctx.child("c")', (ctx) => ctx.child(durable("c", () => 1))],
    ["uuid", "ctx.uuid()", (ctx) => ctx.uuid()],
    ["random", "ctx.random()", (ctx) => ctx.random()],
    ["continueAs", "ctx.continueAs()", (ctx) => ctx.continueAs(1)],
  ];

  test.each(uses)("%s: the step fails at once, and its attempts are not repeated", async (_, what, use) => {
    const on = lab();
    let attempts = 0;
    const flow = durable("f", (ctx) =>
      ctx.step(
        "outer",
        async () => {
          attempts += 1;
          return await use(ctx);
        },
        { retry: { attempts: 5, delay: 1 } },
      ),
    );
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { code: "wrong-context", details: { step: "outer" } } },
    });
    expect(String((outcome as { error: Error }).error.cause)).toContain(
      `${what} was called inside "outer" of run r.`,
    );
    expect(attempts).toBe(1);
  });

  test("of a branch's ctx, and in a stream and a retried step as well", async () => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      const codes: unknown[] = [];
      const code = (error: Error & { cause?: { code?: string } }): void => void codes.push(error.cause?.code);
      await ctx.parallel({ a: (c) => c.step("s", () => c.step("inner", () => 1)).catch(code) });
      await ctx
        .stream("feed", async function* () {
          yield 1;
          await ctx.step("inner", () => 1);
        })
        .catch(code);
      await ctx
        .step("again", ({ attempt }) => {
          if (attempt === 1) throw new Error("first");
          return ctx.step("inner", () => 1);
        })
        .catch(code);
      return codes;
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["wrong-context", "wrong-context", "wrong-context"]);
  });

  test("ctx.now, ctx.runId and ctx.signal may be read there; another run's ctx is not meant", async () => {
    const on = lab();
    const inner = durable("inner", (ctx) => ctx.step("s", () => "inner output")).with(on);
    const flow = durable("f", (ctx) =>
      ctx.step("outer", async () => {
        const outcome = await inner.run(undefined, { id: "other" });
        return [typeof ctx.now(), ctx.runId, ctx.signal.aborted, outputOf(outcome)];
      }),
    );
    expect(outputOf(await runOf(on, flow))).toEqual(["number", "r", false, "inner output"]);
  });
});
