import { createApp, durable, type App } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";

const leaf = durable("leaf", (ctx, ask: boolean) =>
  ask ? ctx.suspend<string>("ok") : ctx.step("work", () => "done"),
);
const branch = durable("branch", async (ctx, ask: boolean) => [
  await ctx.child(leaf, false),
  await ctx.child(leaf, ask),
]);
const root = durable("root", (ctx, ask: boolean) => ctx.child(branch, ask));
const workflows = [root, branch, leaf];

async function workflowsIn({ storage }: Lab): Promise<string[]> {
  return (await storage.list()).runs.map(({ workflow }) => workflow).toSorted();
}

async function started(on: Lab, ask: boolean): Promise<App> {
  const app = createApp({ ...on, workflows });
  await app.start("root", ask, { id: "r" });
  await on.world.advance(1_000);
  expect(await workflowsIn(on)).toEqual(["branch", "leaf", "leaf", "root"]);
  return app;
}

describe("deleting a run", () => {
  test("deletes its children and theirs, after their end", async () => {
    const on = lab();
    const app = await started(on, false);
    expect(outputOf(await app.get("r").outcome())).toEqual(["done", "done"]);
    await on.world.run(app.delete("r"));
    expect(await workflowsIn(on)).toEqual([]);
  });

  test("ends and deletes children that wait, and their tokens are unknown", async () => {
    const on = lab();
    const app = await started(on, true);
    const token = tokenOf(await app.get("r").outcome());
    await on.world.run(app.delete("r"));
    expect(await workflowsIn(on)).toEqual([]);
    for (const way of ["resume", "record"] as const)
      expect(await on.world.run(app.resume(token, "late", { drive: way === "resume" }))).toEqual({
        status: "unknown",
        repeated: false,
      });
    await on.world.advance(3_600_000);
    expect(await on.world.run(app.sweep())).toMatchObject({ outcomes: [], failed: [], unknown: [] });
    expect(await workflowsIn(on)).toEqual([]);
  });

  test("keeps its forks, with the results of its children", async () => {
    const on = lab();
    const app = await started(on, false);
    const twice = durable("root", async (ctx, ask: boolean) => {
      const found = await ctx.child(branch, ask);
      return [found, await ctx.step("after", () => "again")];
    });
    const fork = await twice.with({ ...on }).fork("r", { after: "branch", id: "fork" });
    expect(await on.world.run(fork.result())).toEqual([["done", "done"], "again"]);
    await on.world.run(app.delete("r"));
    expect(await workflowsIn(on)).toEqual(["root"]);
    const second = await twice.with({ ...on }).fork("fork", { from: "after", id: "fork-of-fork" });
    expect(await on.world.run(second.result())).toEqual([["done", "done"], "again"]);
  });

  test("deletes more children than one page of a list has", async () => {
    const on = lab();
    const many = durable("many", (ctx) =>
      ctx.map(
        Array.from({ length: 120 }, (_, n) => n),
        (c) => c.child(leaf, false),
      ),
    );
    const app = createApp({ ...on, workflows: [many, leaf] });
    await on.world.run(app.start("many", undefined, { id: "r" }).then((run) => run.result()));
    expect((await on.storage.list({ limit: 1_000 })).runs).toHaveLength(121);
    await on.world.run(app.delete("r"));
    expect(await workflowsIn(on)).toEqual([]);
  });
});

describe("deleting a run while a worker drives its child", () => {
  test("aborts the work of the child, and nothing comes back", async () => {
    const on = lab();
    const seen: string[] = [];
    const slow = durable("slow", async (ctx) => {
      await ctx.sleep("2h");
      await ctx.step("work", async ({ signal }) => {
        seen.push("begun");
        signal.addEventListener("abort", () => seen.push("aborted"));
        await pause(on.world, 600_000);
      });
      await ctx.step("next", () => void seen.push("next"));
    });
    const parent = durable("parent", (ctx) => ctx.child(slow));
    const { worker } = open(on, [parent, slow]);
    await parent.with({ ...on }).start(undefined, { id: "r" });
    await on.world.advance(2 * 3_600_000 + 5_000);
    expect(seen).toEqual(["begun"]);
    await on.world.run(createApp({ ...on, workflows: [] }).delete("r"));
    expect(await workflowsIn(on)).toEqual([]);
    await on.world.advance(3_600_000);
    expect(seen).toEqual(["begun", "aborted"]);
    expect(await workflowsIn(on)).toEqual([]);
    expect(worker.active).toBe(0);
  });

  test("stops the driver of both, and nothing comes back", async () => {
    const on = lab();
    const seen: string[] = [];
    const inner = durable("inner", async (ctx) => {
      await ctx.step("work", () => pause(on.world, 120_000));
      await ctx.step("next", () => void seen.push("next of inner"));
    });
    const outer = durable("outer", async (ctx) => {
      await ctx.child(inner).catch(() => seen.push("caught"));
      await ctx.step("next", () => void seen.push("next of outer"));
    });
    const { worker } = open(on, [outer, inner]);
    await outer.with({ ...on }).start(undefined, { id: "r", drive: false });
    await on.world.advance(30_000);
    expect(await workflowsIn(on)).toEqual(["inner", "outer"]);
    await on.world.run(createApp({ ...on, workflows: [] }).delete("r"));
    await on.world.advance(3_600_000);
    expect(seen).toEqual([]);
    expect(await workflowsIn(on)).toEqual([]);
    expect(worker.active).toBe(0);
  });
});
