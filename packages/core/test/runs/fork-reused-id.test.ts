/** A fork that lands after its parent was deleted, and after the id of the parent was used again. */

import { createApp, durable, type Context } from "@durable/core";
import { expect, test } from "vitest";
import { hooked, nonceLab } from "../support/behaviour-lab.ts";

test("a fork does not read another life of its parent's id", async () => {
  const on = nonceLab();
  const flow = durable("flow", async (ctx: Context, who: string) => {
    await ctx.step("greet", () => `hello ${who}`);
    return ctx.step("part", () => `bye ${who}`);
  });
  await on.world.run(flow.with({ ...on }).run("Ann", { id: "r" }));
  const plain = flow.with({ ...on });
  // While the fork is on its way to the storage.
  let reused = false;
  const storage = hooked(on.storage, async (operation, moment) => {
    if (operation !== "append" || moment !== "before" || reused) return;
    reused = true;
    await createApp({ ...on, workflows: [flow] }).delete("r");
    await plain.run("Bob", { id: "r" });
  });
  const slow = flow.with({ ...on, storage });
  const fork = await on.world.run(slow.get("r").fork({ id: "f", from: "part" }));
  await expect(on.world.run(fork.result())).rejects.toMatchObject({ code: "storage-failed" });
});
