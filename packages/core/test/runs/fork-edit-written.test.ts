import { durable, type StandardSchema } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";

test("a fork whose edit takes time to check is written as it begins, and runs", async () => {
  const on = lab();
  const validate = async (value: unknown) => {
    await pause(on.world, 5_000);
    return { value };
  };
  const schema: StandardSchema = { "~standard": { version: 1, vendor: "test", validate } };
  const flow = durable("edited", async (ctx) => {
    const plan = await ctx.step("plan", () => "first", { schema });
    return [plan, await ctx.step("write", () => "written")];
  }).with({ ...on });
  await on.world.run(flow.run(undefined, { id: "r" }));
  const fork = await on.world.run(flow.fork("r", { edit: { plan: "second" }, id: "fork" }));
  expect(await on.world.run(fork.result())).toEqual(["second", "written"]);
  const [first] = await batchesOf(on, "fork");
  const { entries } = JSON.parse(first!) as { entries: Record<string, unknown>[] };
  const { runs } = await on.storage.list({ parent: "r" });
  expect(runs).toMatchObject([{ runId: "fork", createdAt: entries[0]?.["at"] }]);
  expect(Object.keys(entries[0]!)).not.toContain("seq");
  expect(Object.keys(entries[0]!)).not.toContain("outside");
});
