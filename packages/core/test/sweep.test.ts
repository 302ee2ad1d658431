import { createApp, durable } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, outputOf, secret, tokenOf } from "./support/behaviour-lab.ts";

const approval = durable("approval", (ctx) => ctx.suspend<string>("ok"));

test("H28 an answer that nobody was woken for is found by a sweep", async () => {
  const { world, storage } = lab();
  const flow = approval.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  await app.deliver(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "yes");
  const { outcomes, failed, unknown } = await world.run(app.sweep());
  expect(outcomes.map(outputOf)).toEqual(["yes"]);
  expect({ failed, unknown }).toEqual({ failed: [], unknown: [] });
});

test("H37 an answer from a host whose clock is five minutes ahead is swept at once", async () => {
  const { world, storage } = lab();
  const flow = approval.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  const ahead = { ...world, now: () => world.now() + 300_000 };
  const sender = createApp({ workflows: [], storage, world: ahead, secret });
  await sender.deliver(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "yes");
  expect((await world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["yes"]);
});

test("H37 a run whose driver died with a fast clock is swept once its lease has run out", async () => {
  const { world, storage } = lab();
  const flow = durable("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
  const dying = faultyStorage(storage, {
    world,
    plan: (operation, index) => (operation === "append" && index === 2 ? "crash-after" : null),
  });
  const fast = { ...world, now: () => world.now() + 300_000 };
  const running = flow.with({ storage: dying, world: fast, secret }).run(undefined, { id: "r" });
  await world.run(Promise.race([running, dying.died]));
  await world.advance(60_000);
  const app = createApp({ workflows: [flow], storage, world, secret });
  expect((await world.run(app.sweep())).outcomes.map(outputOf)).toEqual([[1, 2]]);
});
