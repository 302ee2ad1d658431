import { createApp, durable, type DurableError } from "@durable/core";
import { expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, secret, tokenOf } from "../../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { unhandled } from "../../support/behaviour-unhandled.ts";

test("a race ends the run at once though the loser's body never ends", async () => {
  const { world, storage } = lab();
  const flow = durable("deaf", (ctx) =>
    ctx.race({ deaf: (c) => c.step("work", () => new Promise(() => {})), timer: (c) => c.sleep("1s") }),
  ).with({ storage, world, secret });
  const outcome = await world.run(Promise.race([flow.run(undefined, { id: "r" }), pause(world, 60_000)]));
  expect(outcome).toMatchObject({ status: "completed", output: { name: "timer" } });
});

test("a race of no branches is a typed error, and does not hang the run", async () => {
  const { world, storage } = lab();
  const flow = durable("empty", (ctx) => ctx.race({})).with({ storage, world, secret });
  const outcome = await world.run(Promise.race([flow.run(undefined, { id: "r" }), pause(world, 600_000)]));
  expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
});

test("the signal of a race's loser names the winner, and an error that the loser then throws is dropped", async () => {
  const on = lab();
  const rejections = unhandled();
  const reasons: string[] = [];
  const flow = durable("told", async (ctx) => {
    const first = await ctx.race({
      slow: (c) =>
        c.step("work", ({ signal }) => {
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => {
            reasons.push((signal.reason as DurableError).message);
            reject(signal.reason as Error);
          });
          return promise;
        }),
      quick: (c) => c.step("work", () => pause(on.world, 10).then(() => 1)),
    });
    await ctx.sleep("1s");
    return first;
  });
  expect(outputOf(await runOf(on, flow))).toEqual({ name: "quick", value: 1 });
  expect(reasons).toEqual([expect.stringContaining('"quick"')]);
  expect((await kindsOf(flow.with({ ...on }).get("r"))).join()).not.toMatch(/failed/);
  expect(outputOf(await replayOf(on, flow))).toEqual({ name: "quick", value: 1 });
  expect(await rejections()).toEqual([]);
});

test.each(["resume", "record"] as const)(
  "H43 the wait of a loser is closed at once: expired, by %s",
  async (way) => {
    const on = lab();
    const flow = durable("closed", async (ctx) => {
      const first = await ctx.race({ late: (c) => c.suspend("ok"), early: (c) => c.suspend("ok") });
      return [first, await ctx.suspend("last")];
    });
    const app = createApp({ workflows: [flow], ...on });
    const outcome = await runOf(on, flow);
    const early = await on.world.run(app.resume(tokenOf(outcome, "race[early]/ok"), "first"));
    expect(early.outcome).toMatchObject({ status: "suspended", waiting: [{ key: "last" }] });
    const stale = tokenOf(outcome, "race[late]/ok");
    expect((await on.world.run(app.resume(stale, "late", { drive: way === "resume" }))).status).toBe(
      "expired",
    );
    const last = await on.world.run(app.resume(tokenOf(early.outcome!), "end"));
    expect(outputOf(last.outcome)).toEqual([{ name: "early", value: "first" }, "end"]);
  },
);

test("a race fails if the first branch to settle fails; a later failure is dropped", async () => {
  const on = lab();
  const bad = (ms: number) => () => pause(on.world, ms).then(() => Promise.reject(new Error("no")));
  const flow = durable("failed", async (ctx) => {
    const won = await ctx.race({
      bad: (c) => c.step("work", bad(50), { retry: false }),
      good: (c) => c.step("work", () => pause(on.world, 10).then(() => 1)),
    });
    const lost = await ctx
      .race({
        bad: (c) => c.step("work", bad(10), { retry: false }),
        good: (c) => c.step("work", () => pause(on.world, 50)),
      })
      .catch((error: unknown) => (error as DurableError).code);
    return [won, lost];
  });
  const expected = [{ name: "good", value: 1 }, "step-failed"];
  expect(outputOf(await runOf(on, flow))).toEqual(expected);
  expect(outputOf(await replayOf(on, flow))).toEqual(expected);
});

test("H4 race(step, sleep, wait) has one winner through a crash at every append, and one clock after it", async () => {
  for (const winner of ["step", "sleep", "wait"] as const) {
    for (const fault of ["crash-before", "crash-after", "crash-then-apply"] as const) {
      for (const append of [2, 3]) {
        const on = lab();
        let token = "";
        const seen: unknown[] = [];
        const flow = durable("three", async (ctx) => {
          const first = await ctx.race({
            step: (c) => c.step("work", () => pause(on.world, winner === "step" ? 10 : 400_000)),
            sleep: (c) => c.sleep(winner === "sleep" ? 20 : 400_000),
            wait: (c) => {
              const wait = c.suspend("ok");
              ({ token } = wait);
              return wait;
            },
          });
          seen.push([first.name, ctx.now()]);
          await ctx.step("after", () => 1);
          return [first.name, ctx.now()];
        });
        const app = createApp({ workflows: [flow], ...on });
        if (winner === "wait") on.world.timer(30, () => void app.resume(token, "yes", { drive: false }));
        await dieAt(on, flow, append, { fault });
        const outcome = await on.world.run(flow.with({ ...on, patience: "1h" }).run(undefined, { id: "r" }));
        const when = `${winner}, ${fault} at ${append}`;
        expect(outputOf(outcome), `won by ${when}`).toEqual([winner, expect.any(Number)]);
        expect(outputOf(await replayOf(on, flow)), `won by ${when}`).toEqual(outputOf(outcome));
        // Every life that got past the race saw the same winner; the last two saw the same time.
        expect(new Set(seen.map((one) => (one as string[])[0])).size, `won by ${when}`).toBe(1);
        expect(seen.at(-1), `won by ${when}`).toEqual(seen.at(-2) ?? seen.at(-1));
      }
    }
  }
});

test("H43 a loser that is still running when the run waits on does not keep the run from parking", async () => {
  const on = lab();
  const flow = durable("parks", async (ctx) => {
    const first = await ctx.race({
      deaf: (c) => c.step("work", () => new Promise(() => {})),
      quick: (c) => c.step("work", () => 1),
    });
    return [first.name, await ctx.suspend("ok")];
  });
  expect(await runOf(on, flow)).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
});
