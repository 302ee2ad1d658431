import { createApp, durable } from "@durable/core";
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

test.fails("H37 an answer from a host whose clock is five minutes ahead is swept at once", async () => {
  const { world, storage } = lab();
  const flow = approval.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  const ahead = { ...world, now: () => world.now() + 300_000 };
  const sender = createApp({ workflows: [], storage, world: ahead, secret });
  await sender.deliver(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "yes");
  expect((await world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["yes"]);
});
