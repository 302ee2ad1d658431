import { createApp, durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../support/behaviour-lives.ts";

const draw = (c: Context) => [c.now(), c.random(), c.random(), c.random("named"), c.uuid(), c.uuid("named")];

const draws = (on: { world: Parameters<typeof pause>[0] }) =>
  durable("draws", async (ctx) => {
    const seen: unknown[] = [draw(ctx)];
    await ctx.step("slow", () => pause(on.world, 1_234));
    seen.push(draw(ctx));
    seen.push(
      await ctx.parallel({
        a: async (c) => {
          await c.sleep("2s");
          return draw(c);
        },
        b: (c) => draw(c),
      }),
    );
    return [...seen, draw(ctx)];
  });

describe("H6 clock and chance in a workflow", () => {
  test("are equal on replay and over a crash at any append", async () => {
    const on = lab();
    const flow = draws(on);
    const first = outputOf(await runOf(on, flow));
    expect(outputOf(await replayOf(on, flow))).toEqual(first);
    for (const append of [2, 3, 4]) {
      const other = lab(append);
      const again = draws(other);
      await dieAt(other, again, append);
      const outcome = outputOf(await runOf(other, again));
      expect(outputOf(await replayOf(other, again)), `died at append ${append}`).toEqual(outcome);
    }
  });

  test("never draw one thing twice in a run, nor in two runs", async () => {
    const on = lab();
    const flow = durable("many", async (ctx) => {
      const ids = Array.from({ length: 50 }, () => ctx.uuid());
      const numbers = Array.from({ length: 50 }, () => ctx.random());
      const inner = await ctx.parallel([(c) => c.uuid(), (c) => c.uuid()]);
      return [...ids, ...numbers, ...inner, ctx.uuid("a"), ctx.uuid("b")];
    }).with({ ...on });
    const one = outputOf(await on.world.run(flow.run(undefined, { id: "r1" }))) as unknown[];
    const two = outputOf(await on.world.run(flow.run(undefined, { id: "r2" }))) as unknown[];
    expect(new Set([...one, ...two]).size).toBe(one.length + two.length);
    for (const id of one.filter((draw) => typeof draw === "string"))
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const numbers = one.filter((draw) => typeof draw === "number");
    for (const draw of numbers) expect(draw >= 0 && draw < 1).toBe(true);
    expect(numbers.reduce((sum, draw) => sum + draw, 0) / numbers.length).toBeCloseTo(0.5, 0);
  });

  test("are not moved by a draw in another branch, or by one of another name", async () => {
    const on = lab();
    const drawn = async (extra: boolean) => {
      const flow = durable("draws", (ctx) => {
        if (extra) ctx.random("extra");
        return ctx.parallel({ a: (c) => [extra ? c.uuid() : "", 0][1], b: (c) => [c.random(), c.uuid()] });
      }).with({ ...on, ...lab(), world: on.world });
      return outputOf(await on.world.run(flow.run(undefined, { id: "r" })));
    };
    expect(await drawn(true)).toEqual(await drawn(false));
  });

  test.each<[string, (ctx: Context, drift: () => number) => Promise<unknown>]>([
    ["the declared input of a step", (ctx, drift) => ctx.step("work", () => 1, { input: { seed: drift() } })],
    ["the length of a sleep", (ctx, drift) => ctx.sleep(1_000 + drift(), { name: "work" })],
    [
      "the branches of a group",
      (ctx, drift) => ctx.parallel({ [`b${drift()}`]: (c) => c.step("x", () => 1) }, { name: "work" }),
    ],
  ])("taken from outside of ctx, as %s, stop the run loudly on replay", async (_, use) => {
    const on = lab();
    let drift = 0;
    const flow = durable("drifting", async (ctx) => {
      await use(ctx, () => drift);
      return ctx.suspend("ok");
    });
    const parked = await on.world.run(flow.with({ ...on, patience: "1h" }).run(undefined, { id: "r" }));
    expect(parked.status).toBe("suspended");
    expect((await runOf(on, flow)).status).toBe("suspended");
    drift = 1;
    expect(await runOf(on, flow)).toMatchObject({
      status: "blocked",
      error: { code: "diverged", details: { key: "work" } },
    });
  });

  test("the clock moves only with delivered entries, and never goes back", async () => {
    const on = lab();
    const began = on.world.now();
    const flow = durable("clock", async (ctx) => {
      const times = [ctx.now()];
      for (const ms of [10, 1_000, 0]) {
        await ctx.step("work", () => pause(on.world, ms));
        times.push(ctx.now(), ctx.now());
      }
      return times.map((time) => time - began);
    });
    expect(outputOf(await runOf(on, flow))).toEqual([0, 10, 10, 1_010, 1_010, 1_010, 1_010]);
  });
});

describe("H8 a suspension in the user's own constructs", () => {
  test.each<[string, (wait: Promise<unknown>, note: (text: string) => void) => Promise<unknown>]>([
    [
      "try, catch and finally",
      async (wait, note) => {
        try {
          return await wait;
        } catch {
          return note("catch");
        } finally {
          note("finally");
        }
      },
    ],
    ["allSettled", async (wait) => ((await Promise.allSettled([wait]))[0] as { value: unknown }).value],
    [
      "then, catch and finally",
      (wait, note) =>
        wait
          .then((v) => v)
          .catch(() => note("catch"))
          .finally(() => note("finally")),
    ],
    [
      "a wrapper's own promise",
      (wait, note) =>
        new Promise((resolve, reject) => {
          wait.then(resolve, (error: unknown) => {
            note("catch");
            reject(error);
          });
        }),
    ],
    ["Promise.any", (wait) => Promise.any([wait, Promise.reject(new Error("no"))])],
  ])("%s: nothing is swallowed, and nothing runs before the answer", async (_, wrap) => {
    const on = lab();
    const notes: string[] = [];
    const flow = durable("wrapped", async (ctx) => {
      const answer = await wrap(ctx.suspend("ok"), (text) => void notes.push(text));
      return [answer, await ctx.step("after", () => "after")];
    });
    const outcome = await runOf(on, flow);
    expect(outcome.status).toBe("suspended");
    await on.world.advance(60_000);
    expect(notes).toEqual([]);
    // Replays that only come to look run none of it either.
    await on.world.run(createApp({ workflows: [flow], ...on }).advance("r"));
    expect(notes).toEqual([]);
    const result = await on.world.run(flow.with({ ...on }).resume(tokenOf(outcome), "yes"));
    expect(outputOf(result.outcome)).toEqual(["yes", "after"]);
    expect(notes.filter((text) => text === "catch")).toEqual([]);
    expect(notes.length).toBeLessThanOrEqual(1);
  });

  test("a time-out without a fallback is an error that is caught, on replay as well", async () => {
    const on = lab();
    const flow = durable("late", async (ctx) => {
      const caught = await ctx
        .suspend("ok", { timeout: "1h" })
        .catch((error: unknown) => (error as { code: string }).code);
      return [caught, await ctx.step("after", () => 1)];
    });
    expect((await runOf(on, flow)).status).toBe("suspended");
    await on.world.advance(3_600_000);
    expect(outputOf(await runOf(on, flow))).toEqual(["suspend-expired", 1]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["suspend-expired", 1]);
  });
});

test("H35 a run is not parked while a body of its own runs, however long", async () => {
  const on = lab();
  const flow = durable("busy", async (ctx) => {
    const wait = ctx.suspend("ok", { timeout: "3h", fallback: "nobody" });
    await ctx.step("long", () => pause(on.world, 7_200_000));
    return wait;
  }).with({ ...on });
  const driving = flow.run(undefined, { id: "r" });
  for (let i = 0; i < 7; i++) {
    await on.world.advance(1_000_000);
    expect(await flow.get("r").outcome()).toMatchObject({ status: "running" });
    expect((await on.storage.list({ dueAt: on.world.now() })).runs).toEqual([]);
  }
  expect(await on.world.run(driving)).toMatchObject({ status: "suspended" });
});
