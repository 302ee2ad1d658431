import { durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf } from "../support/behaviour-lab.ts";

const hostile = {
  get value(): never {
    throw new Error("hostile getter");
  },
};

const cases: [string, (ctx: Context) => Promise<unknown>][] = [
  [
    "the key of ctx.map",
    (ctx) =>
      ctx.map([1, 2], () => 1, {
        key: () => {
          throw new Error("hostile key");
        },
      }),
  ],
  ["the note of ctx.suspend", (ctx) => ctx.suspend("w", { note: hostile })],
  ["the fallback of ctx.suspend", (ctx) => ctx.suspend("w", { fallback: hostile, timeout: 1 })],
  ["the input of ctx.step", (ctx) => ctx.step("s", () => 1, { input: hostile })],
  [
    "the input of ctx.child",
    (ctx) =>
      ctx.child(
        durable("c", () => 1),
        hostile,
      ),
  ],
  ["the input of ctx.continueAs", (ctx) => ctx.continueAs(hostile)],
  [
    "an option itself",
    (ctx) =>
      ctx.step("s", () => 1, {
        get retry(): never {
          throw new Error("hostile getter");
        },
      }),
  ],
];

describe.each(cases)("%s throws", (_, call) => {
  test("the code gets the error, and the run fails with it", async () => {
    const on = lab();
    const caught: unknown[] = [];
    const flow = durable("f", async (ctx) => {
      try {
        return await call(ctx);
      } catch (error) {
        caught.push((error as Error).message);
        throw error;
      }
    }).with(on);
    const outcome = await on.world.run(flow.run());
    expect(outcome.status).toBe("failed");
    expect(outcome.status === "failed" && outcome.error.message).toContain("hostile");
    expect(caught).toEqual([expect.stringContaining("hostile")]);
  });

  test("code that catches it goes on", async () => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      await Promise.resolve()
        .then(() => call(ctx))
        .catch(() => {});
      return ctx.step("after", () => "fine");
    }).with(on);
    expect(outputOf(await on.world.run(flow.run()))).toBe("fine");
  });
});
