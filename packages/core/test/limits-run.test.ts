import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, outputOf, secret } from "./support/behaviour-lab.ts";

test("H50 a note that cannot be kept is an error the workflow can catch", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", async (ctx) => {
    try {
      return await ctx.suspend("ok", { note: { draw: () => 1 } });
    } catch (error) {
      return (error as { code: string }).code;
    }
  }).with({ storage, world, secret });
  expect(outputOf(await world.run(flow.run(undefined, { id: "r" })))).toBe("not-serializable");
});

test("H50 a fallback that cannot be kept is found when the wait is made, not at its deadline", async () => {
  const { world, storage } = lab();
  const flow = durable("fallen", async (ctx) => {
    try {
      return await ctx.suspend("ok", { timeout: "2h", fallback: () => 1 });
    } catch (error) {
      return (error as { code: string }).code;
    }
  }).with({ storage, world, secret });
  expect(outputOf(await world.run(flow.run(undefined, { id: "r" })))).toBe("not-serializable");
});

test("a run whose note cannot be kept is not tried again by every sweep", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", (ctx) => ctx.suspend("ok", { note: () => 1 })).with({
    storage,
    world,
    secret,
  });
  const app = createApp({ workflows: [flow], storage, world, secret });
  await world.run(flow.run(undefined, { id: "r" })).catch(() => {});
  const { outcomes, failed } = await world.run(app.sweep());
  expect([...outcomes, ...failed]).toEqual([]);
});

test("H71 a note over its limit is a typed error", async () => {
  const { world, storage } = lab();
  const flow = durable("noted", (ctx) => ctx.suspend("ok", { note: "x".repeat(100_000) }));
  const outcome = await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" }));
  expect(outcome).toMatchObject({ status: "failed", error: { code: "too-large" } });
});
