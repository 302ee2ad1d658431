import { durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { replayOf, runOf } from "../support/behaviour-lives.ts";

const child = durable("child", () => Promise.reject(new Error("no child")));
const once = { retry: false } as const;

/** A call that fails after so many milliseconds. */
type Failing = (ctx: Context, fail: () => Promise<never>) => Promise<unknown>;

const kinds: [string, string[], Failing][] = [
  ["a step", ["s"], (ctx, fail) => ctx.step("s", fail, once)],
  [
    "a stream",
    ["s"],
    (ctx, fail) =>
      ctx.stream(
        "s",
        async function* () {
          yield await fail();
        },
        once,
      ),
  ],
  ["a group", ["g"], (ctx, fail) => ctx.parallel({ a: (c) => c.step("s", fail, once) }, { name: "g" })],
  ["a race", ["g"], (ctx, fail) => ctx.race({ a: (c) => c.step("s", fail, once) }, { name: "g" })],
  ["a map", ["g"], (ctx, fail) => ctx.map([1], (c) => c.step("s", fail, once), { name: "g" })],
  ["a child", ["child"], (ctx) => ctx.child(child)],
  [
    "two steps",
    ["s", "s#2"],
    (ctx, fail) => {
      void ctx.step("s", fail, once);
      return ctx.step("s", fail, once);
    },
  ],
];

async function outcomeOf(on: Lab, call: Failing, after: (ctx: Context) => unknown, ms = 50) {
  const fail = async (): Promise<never> => {
    await pause(on.world, ms);
    throw new Error("no");
  };
  const flow = durable("f", async (ctx) => {
    void call(ctx, fail);
    return after(ctx);
  });
  return { flow, outcome: await runOf(on, flow) };
}

const warning = (keys: readonly string[]): string =>
  `run r ended, but its code never looked at the failure of: ${keys.join(", ")}. Await these calls, or catch their errors.`;

describe.each(kinds)("%s that fails and that nothing looks at", (name, keys, call) => {
  test("before the function ends: the outcome names it, with one warning", async () => {
    const on = lab();
    const { flow, outcome } = await outcomeOf(on, call, (ctx) =>
      ctx.step("slow", async () => {
        await pause(on.world, 500);
        return "done";
      }),
    );
    expect(outcome).toMatchObject({ status: "completed", output: "done", unawaited: keys });
    expect(on.world.warnings).toEqual([warning(keys)]);
    const read = await flow
      .with({ ...on })
      .get("r")
      .outcome();
    expect(read, "it is recorded").toMatchObject({ recorded: true, unawaited: keys });
  });

  test.skipIf(name === "a child")("after the function has ended: the same", async () => {
    const on = lab();
    const { outcome } = await outcomeOf(on, call, () => "done");
    expect(outcome).toMatchObject({ status: "completed", output: "done", unawaited: keys });
    expect(on.world.warnings).toEqual([warning(keys)]);
  });

  test("and a run that fails for another reason names it, too", async () => {
    const on = lab();
    const { outcome } = await outcomeOf(on, call, async (ctx) => {
      await ctx.step("slow", () => pause(on.world, 500));
      throw new Error("other");
    });
    expect(outcome).toMatchObject({ status: "failed", unawaited: keys });
    expect(on.world.warnings).toEqual([warning(keys)]);
  });

  test("is named after a replay as well", async () => {
    const on = lab();
    const { flow } = await outcomeOf(on, call, (ctx) => ctx.step("slow", () => pause(on.world, 500)));
    expect(await replayOf(on, flow)).toMatchObject({ status: "completed", unawaited: keys });
  });
});

test("a child that the function does not await is abandoned, not unawaited", async () => {
  const on = lab();
  const { outcome } = await outcomeOf(
    on,
    (ctx) => ctx.child(child),
    () => "done",
  );
  expect(outcome).toMatchObject({ status: "completed", abandoned: ["child"] });
  expect(outcome).not.toHaveProperty("unawaited");
});

describe.each<[string, (promise: Promise<unknown>, ctx: Context) => unknown]>([
  ["await", (promise) => promise],
  ["then", (promise) => promise.then(undefined, () => 1)],
  ["catch", (promise) => promise.catch(() => 1)],
  ["finally and catch", (promise) => promise.finally(() => {}).catch(() => 1)],
  ["Promise.all", (promise) => Promise.all([promise, Promise.resolve(1)])],
  ["Promise.allSettled", (promise) => Promise.allSettled([promise])],
  ["Promise.race", (promise) => Promise.race([promise, Promise.resolve(1)])],
  ["an async function that returns it", (promise) => (async () => promise)()],
  [
    "a catch that comes late",
    async (promise, ctx) => {
      await ctx.step("slow", () => 1);
      return promise.catch(() => 1);
    },
  ],
])("a failure that the code looks at with %s", (_, look) => {
  test.each(kinds)("(%s) is not named", async (name, keys, call) => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      const failing = call(ctx, () => Promise.reject(new Error("no")));
      await Promise.resolve(look(failing, ctx)).catch(() => {});
      return ctx.step("end", () => "done");
    });
    const outcome = await runOf(on, flow);
    expect(outputOf(outcome)).toBe("done");
    const left = name === "two steps" ? { unawaited: keys.slice(0, 1) } : {};
    expect(outcome).toEqual({
      runId: "r",
      recorded: false,
      state: "completed",
      status: "completed",
      output: "done",
      ...left,
    });
  });
});

test("a wait that expires and that nothing looks at is named", async () => {
  const on = lab();
  const flow = durable("f", async (ctx) => {
    void ctx.suspend("late", { timeout: 10 });
    return ctx.suspend("end");
  });
  const parked = await runOf(on, flow);
  await on.world.advance(20);
  await runOf(on, flow);
  const { outcome } = await on.world.run(flow.with({ ...on }).resume(tokenOf(parked, "end"), 1));
  expect(outcome).toMatchObject({ status: "completed", unawaited: ["late"] });
});
