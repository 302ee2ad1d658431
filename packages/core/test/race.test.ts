import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause, secret } from "./support/behaviour-lab.ts";

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
  const flow = durable("nobody", (ctx) => ctx.race({})).with({ storage, world, secret });
  const outcome = await world.run(Promise.race([flow.run(undefined, { id: "r" }), pause(world, 600_000)]));
  expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
});
