/** engine.5: once a run is found to be blocked, nothing is written but the outcome of work that was already running. */

import { durable } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";

test("engine.5 a wait that was queued when another strand diverged is not opened; the result of running work is kept", async () => {
  const on = lab();
  const recorded = durable("strands", async (ctx) => {
    await ctx.step("k", () => 1);
    return ctx.suspend("later");
  });
  await on.world.run(recorded.with({ ...on }).run(undefined, { id: "r" }));
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const changed = durable("strands", (ctx) =>
    Promise.all([
      ctx.suspend("later"),
      ctx.step("work", async () => {
        await pause(on.world, 5);
        resolve();
        return "paid for";
      }),
      ctx.step("more work", () => pause(on.world, 100)),
      // While the result of the work is on its way to the disk, one strand asks for a wait, and another diverges.
      done.then(() => pause(on.world, 10)).then(() => ctx.suspend("fresh")),
      done.then(() => pause(on.world, 15)).then(() => ctx.sleep(1, { name: "k" })),
    ]),
  );
  const storage = faultyStorage(on.storage, { world: on.world, latency: () => 20 });
  const outcome = await on.world.run(changed.with({ ...on, storage }).run(undefined, { id: "r" }));
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  const written = (await batchesOf(on)).join("\n");
  for (const key of ["work", "more work"]) expect(written).toContain(`"key":"${key}"`);
  expect(written).not.toContain('"key":"fresh"');
});
