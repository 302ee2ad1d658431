import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause, secret, tokenOf } from "./support/behaviour-lab.ts";

const approval = durable("approval", (ctx) => ctx.suspend<string>("ok"));

test("result() rejects with the waits of a suspended run", async () => {
  const { world, storage } = lab();
  const run = await approval.with({ storage, world, secret }).start(undefined, { id: "r" });
  await expect(world.run(run.result())).rejects.toMatchObject({
    code: "suspended",
    details: { waiting: [{ key: "ok", name: "ok" }] },
  });
});

test("result({ wait: true }) sees an end that came between the drive's stop and its own look", async () => {
  const { world, storage } = lab();
  const plain = approval.with({ storage, world, secret });
  const run = await world.run(approval.with({ storage, world, secret }).start(undefined, { id: "r" }));
  await world.advance(1_000);
  await world.run(plain.resume(tokenOf(await plain.get("r").outcome()), "yes"));
  const late = pause(world, 600_000).then(() => "still waiting");
  expect(await world.run(Promise.race([run.result({ wait: true }), late]))).toBe("yes");
});
