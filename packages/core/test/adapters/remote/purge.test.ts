import { createApp, durable } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { virtualWorld } from "@durable/testing";
import { expect, test } from "vitest";
import { batchOf, dying, headOf, keysOf, remote } from "./support/remote.ts";

const day = 86_400_000;
const secret = "a secret for tests, of no worth";
const leaf = durable("leaf", (ctx) => ctx.step("work", () => "x".repeat(9_000)));
const root = durable("root", async (ctx) => {
  const text = await ctx.child(leaf);
  return ctx.step("end", () => text.length);
});

test("a purge deletes the objects of runs, and two small ones per run stay", async () => {
  const world = virtualWorld();
  const bucket = new MemoryBucket();
  const storage = new RemoteStorage(bucket, { world });
  const on = { storage, world, secret };
  const app = createApp({ ...on, workflows: [root, leaf] });
  for (let n = 0; n < 12; n++) await world.run(root.with(on).run(undefined, { id: `r${n}` }));
  const fork = await world.run(root.with(on).fork("r3", { from: "end", id: "fork" }));
  await world.run(fork.result());
  await world.advance(day);
  await world.run(root.with(on).run(undefined, { id: "young" }));
  expect(
    await world.run(app.purge({ olderThan: "1 hour", keep: 0, workflow: "root", dryRun: true })),
  ).toMatchObject({
    runs: 13,
    children: 12,
  });
  const { runs, children } = await world.run(app.purge({ olderThan: "1 hour", limit: 12 }));
  expect([runs, children]).toEqual([12, expect.any(Number)]);
  await world.run(app.purge({ olderThan: "1 hour" }));
  expect((await storage.list()).runs.map(({ workflow }) => workflow)).toEqual(["root", "leaf"]);
  const left = await keysOf(bucket, "");
  const young = left.filter((key) => !key.startsWith("runs/"));
  expect(young.length, young.join("\n")).toBeLessThanOrEqual(5);
  const large = async (): Promise<number> => {
    const objects = Map.groupBy(await keysOf(bucket, "runs/"), (key) => key.split("/")[1]);
    return [...objects.values()].filter((keys) => keys.length > 2).length;
  };
  // The log of a run whose last fork has just gone is emptied; a rebuild deletes the objects.
  expect(await large()).toBeLessThanOrEqual(3);
  await world.advance(120_000);
  await world.run(storage.rebuild());
  expect(await large()).toBe(2);
});

test("a list goes on with a deletion that was interrupted", async () => {
  for (let writes = 1; ; writes++) {
    const bucket = new MemoryBucket();
    const head = headOf({ status: "completed", wakeAt: null });
    const storage = remote(bucket);
    for (const position of [0, 1, 2]) await storage.append(batchOf(head, position));
    const mortal = dying(bucket, writes);
    const later = { now: 5_000 + day };
    const deleting = remote(mortal.bucket, later).deleteUnchanged([head]);
    const died = await Promise.race([deleting.then(() => false), mortal.died.then(() => true)]);
    const other = remote(bucket, later);
    expect((await other.list()).runs, `died at write ${writes}`).toEqual([]);
    if (writes === 1) expect(await keysOf(bucket, "runs/"), "the rest is gone").toHaveLength(2);
    expect(await keysOf(bucket, "index/")).toEqual([]);
    if (!died) break;
  }
});
