import { durable, parallel, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, secret, tokenOf } from "../../support/behaviour-lab.ts";
import { unhandled } from "../../support/behaviour-unhandled.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";

test("a failed parallel tells its other branches, so that work which listens does not hold the run up", async () => {
  const { world, storage } = lab();
  const flow = durable("siblings", (ctx) =>
    ctx.parallel({
      bad: (c) => c.step("bad", () => Promise.reject(new Error("no")), { retry: false }),
      patient: (c) =>
        c.step("listens", ({ signal }) => {
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => reject(signal.reason as Error));
          return promise;
        }),
    }),
  ).with({ storage, world, secret });
  const outcome = await world.run(Promise.race([flow.run(undefined, { id: "r" }), pause(world, 600_000)]));
  expect(outcome).toMatchObject({ status: "failed" });
});

test("H42 a sibling that throws: the running body's outcome is recorded, and the error reaches the workflow", async () => {
  const on = lab();
  const rejections = unhandled();
  let bodies = 0;
  const flow = durable("siblings", async (ctx) => {
    try {
      return await ctx.parallel({
        bad: (c) => c.step("bad", () => Promise.reject(new Error("no")), { retry: false }),
        slow: async (c) => {
          await c.step("slow", () => pause(on.world, 5_000).then(() => ++bodies));
          return c.step("never", () => ++bodies);
        },
      });
    } catch (error) {
      return [(error as Error).message, await ctx.step("after", () => "after")];
    }
  });
  const expected = ['Step "parallel[bad]/bad" of run r failed: Error: no', "after"];
  expect(outputOf(await runOf(on, flow))).toEqual(expected);
  const kinds = await kindsOf(flow.with({ ...on }).get("r"));
  expect(kinds).toContain("step.completed parallel[slow]/slow");
  expect(kinds.at(-1)).toBe("run.completed");
  expect(bodies).toBe(1);
  expect(outputOf(await replayOf(on, flow))).toEqual(expected);
  expect(bodies).toBe(1);
  expect(await rejections()).toEqual([]);
});

const bad = (c: Context) => c.step("bad", () => Promise.reject(new Error("no")), { retry: false });

test("H42 many branches that fail together, awaited late or never, leave no unhandled rejection", async () => {
  const on = lab();
  const rejections = unhandled();
  const flow = durable("failing", async (ctx) => {
    const never = ctx.parallel([bad, bad, bad]);
    const named = ctx.parallel({ a: bad, b: bad }, { name: "named" });
    const lone = ctx.step("lone", () => Promise.reject(new Error("no")), { retry: false });
    const raced = ctx.race({ a: bad, b: bad });
    void [never, named, lone, raced];
    await ctx.sleep("10s");
    return Promise.allSettled([named, raced]).then((all) => all.map(({ status }) => status));
  });
  expect(outputOf(await runOf(on, flow))).toEqual(["rejected", "rejected"]);
  expect(outputOf(await replayOf(on, flow))).toEqual(["rejected", "rejected"]);
  expect(await rejections()).toEqual([]);
});

describe("parallel", () => {
  test("keeps declared order, whatever the order of endings, in records and arrays", async () => {
    const on = lab();
    const after = (ms: number) => (c: Context) => c.step("work", () => pause(on.world, ms).then(() => ms));
    const flow = durable("ordered", async (ctx) => ({
      record: Object.entries(await ctx.parallel({ slow: after(30), quick: after(10), middle: after(20) })),
      array: await parallel(ctx, [after(30), after(10), after(20)]),
    }));
    const expected = {
      record: [
        ["slow", 30],
        ["quick", 10],
        ["middle", 20],
      ],
      array: [30, 10, 20],
    };
    expect(outputOf(await runOf(on, flow))).toEqual(expected);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
  });

  test("of nothing is nothing", async () => {
    const on = lab();
    const flow = durable("empty", async (ctx) => [
      await ctx.parallel({}),
      await ctx.parallel([]),
      await ctx.parallel({}, { mode: "settled" }),
      await ctx.step("after", () => 1),
    ]);
    expect(outputOf(await runOf(on, flow))).toEqual([{}, [], {}, 1]);
    expect(outputOf(await replayOf(on, flow))).toEqual([{}, [], {}, 1]);
  });

  test("settled gives every outcome, and waits for all", async () => {
    const on = lab();
    const flow = durable("settled", async (ctx) => {
      const all = await ctx.parallel(
        {
          good: (c) => c.step("work", () => pause(on.world, 1_000).then(() => 1)),
          bad: (c) => c.step("work", () => Promise.reject(new Error("no")), { retry: false }),
          thrown: () => {
            throw new TypeError("at once");
          },
        },
        { mode: "settled" },
      );
      return Object.entries(all).map(([name, one]) =>
        one.status === "fulfilled" ? [name, one.value] : [name, (one.reason as Error).name],
      );
    });
    const expected = [
      ["good", 1],
      ["bad", "DurableError"],
      ["thrown", "TypeError"],
    ];
    expect(outputOf(await runOf(on, flow))).toEqual(expected);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
  });

  test.each([1, 3, 7, 50])(
    "with concurrency %i never has more bodies at a time, and uses them all",
    async (bound) => {
      const on = lab();
      let live = 0;
      let most = 0;
      const flow = durable("bounded", (ctx) => {
        const branches = Array.from(
          { length: 20 },
          (_, i) => (c: Context) =>
            c.step("work", async () => {
              most = Math.max(most, ++live);
              await pause(on.world, 10 + ((i * 7) % 13));
              live -= 1;
              return i;
            }),
        );
        return ctx.parallel(branches, { concurrency: bound });
      });
      expect(outputOf(await runOf(on, flow))).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(most).toBe(Math.min(bound, 20));
      expect(outputOf(await replayOf(on, flow))).toEqual(Array.from({ length: 20 }, (_, i) => i));
    },
  );

  test("with an invalid concurrency is refused", async () => {
    for (const concurrency of [0, -1, Number.NaN]) {
      const outcome = await runOf(
        lab(),
        durable("none", (ctx) => ctx.parallel([() => 1], { concurrency })),
      );
      expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
    }
  });

  test("a failure under a bound starts no further branch", async () => {
    const on = lab();
    const begun: number[] = [];
    const flow = durable("stopped", (ctx) =>
      ctx.parallel(
        [0, 1, 2, 3, 4].map((i) => (c: Context) => {
          begun.push(i);
          return c.step("work", () => (i === 1 ? Promise.reject(new Error("no")) : pause(on.world, 100)), {
            retry: false,
          });
        }),
        { concurrency: 2 },
      ),
    );
    expect(await runOf(on, flow)).toMatchObject({ status: "failed", error: { code: "step-failed" } });
    expect(begun).toEqual([0, 1]);
  });

  test("nested, with 200 branches that wait, work and crash in the middle", async () => {
    const on = lab();
    let bodies = 0;
    const flow = durable("wide", async (ctx) => {
      const groups = await ctx.parallel(
        Array.from(
          { length: 20 },
          (_, i) => (outer: Context) =>
            outer.parallel(
              Array.from({ length: 10 }, (__, j) => async (c: Context) => {
                const n = await c.step("work", () => {
                  bodies += 1;
                  return i * 10 + j;
                });
                if (j === 9) await c.sleep(1_000 + i);
                return c.step("more", () => n + 1);
              }),
            ),
        ),
      );
      return groups.flat();
    });
    await dieAt(on, flow, 3);
    const expected = Array.from({ length: 200 }, (_, i) => i + 1);
    expect(outputOf(await runOf(on, flow))).toEqual(expected);
    expect(bodies).toBe(200);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
    expect(bodies).toBe(200);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds).toContain("step.completed parallel[19]/parallel[9]/more");
    expect(new Set(kinds).size).toBe(kinds.length);
  });

  test("H43 of three waiting branches one is answered: the run parks again with the other two", async () => {
    const on = lab();
    const flow = durable("three", (ctx) =>
      ctx.parallel({ a: (c) => c.suspend("ok"), b: (c) => c.suspend("ok"), c: (c) => c.suspend("ok") }),
    );
    const outcome = await runOf(on, flow);
    const result = await on.world.run(flow.with({ ...on }).resume(tokenOf(outcome, "parallel[b]/ok"), 2));
    expect(result.outcome).toMatchObject({
      status: "suspended",
      waiting: [{ key: "parallel[a]/ok" }, { key: "parallel[c]/ok" }],
    });
  });
});

test("H9 a step that is not awaited is drained before the run ends, and so is its failure", async () => {
  const on = lab();
  const rejections = unhandled();
  const flow = durable("dangling", (ctx) => {
    void ctx.step("slow", () => pause(on.world, 5_000).then(() => "slow"));
    void ctx.step("bad", () => pause(on.world, 100).then(() => Promise.reject(new Error("no"))), {
      retry: false,
    });
    return "done";
  });
  expect(outputOf(await runOf(on, flow))).toBe("done");
  const kinds = await kindsOf(flow.with({ ...on }).get("r"));
  expect(kinds).toContain("step.completed slow");
  expect(kinds).toContain("step.failed bad");
  expect(kinds.at(-1)).toBe("run.completed");
  expect(await rejections()).toEqual([]);
});
