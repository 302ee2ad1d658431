import { durable, FatalError, type Context, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import type { Flow } from "../support/behaviour-lives.ts";

const fails = durable("fails", (ctx) =>
  ctx.step("inside", () => Promise.reject(new TypeError("no use")), { retry: false }),
);

/** Calls that fail, each in its own way. */
const failures: Readonly<Record<string, (ctx: Context, on: Lab) => Promise<unknown>>> = {
  "a step": (ctx) => ctx.step("a", () => Promise.reject(new TypeError("no use")), { retry: false }),
  "a step that throws a text": (ctx) => ctx.step("a", () => Promise.reject("no use"), { retry: false }),
  "a step after several attempts": (ctx) =>
    ctx.step("a", () => Promise.reject(new Error("no use")), { retry: { attempts: 3, delay: 10 } }),
  "a step with a cause": (ctx) =>
    ctx.step("a", () => {
      throw new FatalError("no use", { cause: new RangeError("too far") });
    }),
  "a step that takes too long": (ctx, on) =>
    ctx.step("a", () => pause(on.world, 60_000), { timeout: "1s", retry: false }),
  "a stream": (ctx) => ctx.stream("a", () => Promise.reject(new TypeError("no use")), { retry: false }),
  "a child": (ctx) => ctx.child(fails),
  "a suspend point": (ctx) => expiring(ctx),
  "a branch of a group": (ctx) =>
    ctx.parallel({
      bad: (c) => c.step("a", () => Promise.reject(new TypeError("no use")), { retry: false }),
      good: (c) => c.step("b", () => 1),
    }),
};

/** The sleep keeps the run in memory until the time is over. */
async function expiring(ctx: Context): Promise<unknown> {
  const wait = ctx.suspend("a", { timeout: "1s" });
  await ctx.sleep("2s");
  return wait;
}

describe.each(Object.entries(failures))("the failure of %s", (_, fail) => {
  test("is the same error in every pass, and can be the input of a step", async () => {
    const on = lab();
    const seen: DurableError[] = [];
    const flow: Flow = durable("flow", async (ctx) => {
      const error = await fail(ctx, on).then(
        () => new Error("It did not fail."),
        (thrown: unknown) => thrown as DurableError,
      );
      seen.push(error as DurableError);
      const code = await ctx.step("later", () => (error as DurableError).code, { input: error });
      await ctx.suspend("ok");
      return code;
    });
    const cold = (): Flow => flow.with({ ...on });
    const outcome = await on.world.run(cold().run(undefined, { id: "r" }));
    const { outcome: ended } = await on.world.run(cold().resume(tokenOf(outcome), null));
    expect(outputOf(ended)).toMatch(/^(step-failed|suspend-expired)$/);
    const fork = await on.world.run(cold().fork("r", { after: "ok", id: "fork" }));
    expect(await on.world.run(fork.result())).toBe(outputOf(ended));
    expect(seen.length).toBeGreaterThanOrEqual(3);
    const [first] = seen;
    for (const error of seen) {
      expect(error.stack).toBe(first?.stack);
      expect(error).toEqual(first);
    }
  });
});
