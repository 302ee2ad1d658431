import { createApp, durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf, dieAt, replayOf, runOf } from "../support/behaviour-lives.ts";

describe("a wait that is not ctx's, in a workflow", () => {
  // The second is longer than a replay waits for a call that does not come.
  test.each([10, 200])("one after the other, of %i ms: warned about once, and replayed right", async (ms) => {
    const on = lab();
    let bodies = 0;
    const flow = durable("loop", async (ctx) => {
      const seen: number[] = [];
      for (let i = 0; i < 5; i++) {
        await pause(on.world, ms);
        seen.push(await ctx.step("turn", () => ++bodies));
      }
      return seen;
    });
    expect(outputOf(await runOf(on, flow))).toEqual([1, 2, 3, 4, 5]);
    expect(on.world.warnings).toHaveLength(1);
    expect(on.world.warnings[0]).toMatch(/run r called "turn" after awaiting something other than ctx/);
    expect(outputOf(await replayOf(on, flow))).toEqual([1, 2, 3, 4, 5]);
    expect(bodies).toBe(5);
  });

  test("is not warned about where every wait is ctx's", async () => {
    const on = lab();
    const flow = durable("clean", async (ctx) => {
      await Promise.resolve();
      await ctx.step("slow", () => pause(on.world, 500));
      await ctx.sleep("2s");
      await ctx.parallel([(c) => c.step("a", () => pause(on.world, 5)), (c) => c.sleep("1s")]);
      return ctx.step("end", () => "end");
    });
    expect(outputOf(await runOf(on, flow))).toBe("end");
    expect(outputOf(await replayOf(on, flow))).toBe("end");
    expect(on.world.warnings).toEqual([]);
  });

  test("is not seen in a stream of the platform that was split and is read to its end, in two strands at once", async () => {
    const on = lab();
    const flow = durable("reads", (ctx) => {
      const strand = async (name: string) => {
        const chunks = await ctx.step(name, () => ["a", "b"]);
        const [one] = new ReadableStream<string>({
          start: (controller) => {
            for (const chunk of chunks) controller.enqueue(chunk);
            controller.close();
          },
        }).tee();
        let text = name;
        for await (const chunk of one) text += chunk;
        return ctx.step("same", () => text);
      };
      return Promise.all([strand("x"), strand("y")]);
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["xab", "yab"]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["xab", "yab"]);
    expect(on.world.warnings).toEqual([]);
  });

  test("in two strands that use one step name at a time: blocked, with both ways out", async () => {
    const on = lab();
    const flow = durable("strands", (ctx) => {
      const strand = async (ms: number) => {
        await pause(on.world, ms);
        return ctx.step("same", () => pause(on.world, 1_000).then(() => ms));
      };
      return Promise.all([strand(1), strand(2)]);
    });
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      status: "blocked",
      error: { code: "foreign-await", details: { key: "same#2" } },
    });
    expect((outcome as { error: Error }).error.message).toMatch(/inside a step, or use different names/);
    // What was running when it was found out is paid for, and kept.
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toEqual(["run.started", "step.completed same"]);
  });

  test("in two strands with names of their own: warned about, and each gets its own back", async () => {
    const on = lab();
    let bodies = 0;
    const order = { first: 1, second: 20 };
    const flow = durable("strands", (ctx) => {
      const strand = async (name: "first" | "second") => {
        await pause(on.world, order[name]);
        return ctx.step(name, () => `${name} ${++bodies}`);
      };
      return Promise.all([strand("first"), strand("second")]);
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["first 1", "second 2"]);
    Object.assign(order, { first: 20, second: 1 });
    expect(outputOf(await replayOf(on, flow))).toEqual(["first 1", "second 2"]);
    expect(bodies).toBe(2);
  });

  test("that ends after the park revives the run with a warning, and its work is done once", async () => {
    const on = lab();
    let bodies = 0;
    const flow = durable("revived", async (ctx) => {
      const wait = ctx.suspend<string>("ok");
      await pause(on.world, 5_000);
      const late = await ctx.step("late", () => ++bodies);
      return [late, await wait];
    });
    const parked = await runOf(on, flow);
    expect(parked).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
    await on.world.advance(10_000);
    expect(on.world.warnings.some((text) => /after awaiting something other than ctx/.test(text))).toBe(true);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toContain("step.completed late");
    expect(
      await flow
        .with({ ...on })
        .get("r")
        .outcome(),
    ).toMatchObject({ status: "suspended" });
    const result = await on.world.run(flow.with({ ...on }).resume(tokenOf(parked), "yes"));
    expect(outputOf(result.outcome)).toEqual([1, "yes"]);
    expect(bodies).toBe(1);
  });

  test("that ends after the park does nothing where another driver has gone on meanwhile", async () => {
    const on = lab();
    let bodies = 0;
    const flow = durable("overtaken", async (ctx) => {
      const wait = ctx.suspend<string>("ok");
      await pause(on.world, 5_000);
      const late = await ctx.step("late", () => ++bodies);
      return [late, await wait];
    });
    const token = tokenOf(await runOf(on, flow));
    const app = createApp({ workflows: [flow], ...on });
    await app.resume(token, "yes", { drive: false });
    await on.world.advance(60_000);
    const outcome = await on.world.run(app.advance("r"));
    expect(outputOf(outcome)).toEqual([1, "yes"]);
    expect(bodies).toBe(1);
    const length = (await batchesOf(on)).length;
    await on.world.advance(60_000);
    expect(await batchesOf(on)).toHaveLength(length);
  });

  test("over a crash: what was recorded before it comes back though its call comes late", async () => {
    const on = lab();
    const bodies = { a: 0, b: 0 };
    const flow = durable("late", async (ctx) => {
      await pause(on.world, 500);
      const a = await ctx.step("a", () => ++bodies.a);
      await pause(on.world, 500);
      return [a, await ctx.step("b", () => ++bodies.b)];
    });
    await dieAt(on, flow, 2);
    expect(outputOf(await runOf(on, flow))).toEqual([1, 1]);
    expect(bodies).toEqual({ a: 1, b: 1 });
  });
});
