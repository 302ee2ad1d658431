import { createApp, durable } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { countingBucket, virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { batchOf, headOf, keysOf, remote, watched } from "./support/remote.ts";

const secret = "a secret for tests, of no worth";

/** Requests to one bucket, each from an isolate of its own. */
function stage() {
  const world = virtualWorld();
  const bucket = new MemoryBucket();
  const notes = { replays: 0 };
  const flow = durable("flow", async (ctx, wait: string) => {
    notes.replays += 1;
    await ctx.step("first", () => 1);
    if (wait === "sleep") await ctx.sleep("1 hour");
    return wait === "ask" ? ctx.suspend<string>("ask") : "done";
  });
  /** With a clock of its own, behind by so many milliseconds. */
  const isolate = (behind = 0) => {
    const { counts, ...counted } = countingBucket(bucket);
    const own = { ...world, now: () => world.now() - behind };
    const storage = new RemoteStorage(counted, { world: own });
    return {
      counts,
      app: createApp({ world: own, storage, secret, workflows: [flow], patience: 0, warm: 0 }),
    };
  };
  const index = async (): Promise<string[]> =>
    [...(await keysOf(bucket, "index/")), ...(await keysOf(bucket, "timers/"))].map((key) =>
      key.split("/").slice(0, -1).join("/"),
    );
  return { world, bucket, flow, notes, isolate, index };
}

describe("a request that is repeated", () => {
  test.each([
    ["ask", "suspended", ["index/suspended"]],
    ["sleep", "suspended", ["index/suspended", "timers"]],
    ["nothing", "completed", ["index/completed"]],
  ] as const)("writes nothing and leaves nothing: %s", async (wait, status, kept) => {
    const { world, bucket, flow, notes, isolate, index } = stage();
    const first = await world.run(isolate().app.run(flow, wait, { id: "r" }));
    const before = await keysOf(bucket, "");
    for (let i = 0; i < 20; i++) {
      const { app, counts } = isolate();
      expect(await world.run(app.run(flow, wait, { id: "r" }))).toMatchObject({ runId: "r", status });
      expect(counts).toMatchObject({ puts: 0, deletes: 0, lists: 0 });
      expect(counts.gets).toBeLessThanOrEqual(wait === "nothing" ? 12 : 6);
    }
    for (let i = 0; i < 20; i++) {
      const { app, counts } = isolate();
      const run = await world.run(app.start(flow, wait, { id: "r", drive: i % 2 === 0 }));
      expect(run.repeated).toBe(true);
      expect(counts).toMatchObject({ puts: 0, deletes: 0 });
    }
    expect(await index()).toEqual(kept);
    expect(await keysOf(bucket, "")).toEqual(before);
    expect(notes.replays).toBe(1);
    if (first.status !== "suspended" || wait === "sleep") return;
    const { app } = isolate();
    expect(await world.run(app.resume(first.waiting[0]!.token, "yes"))).toMatchObject({ status: "accepted" });
    expect(await world.run(app.get("r").outcome())).toMatchObject({ status: "completed", output: "yes" });
  });

  test("drives a run whose time has come, or whose answer was only recorded", async () => {
    const { world, flow, isolate } = stage();
    await world.run(isolate().app.run(flow, "sleep", { id: "sleeps" }));
    await world.advance(3_600_000);
    expect(await world.run(isolate().app.run(flow, "sleep", { id: "sleeps" }))).toMatchObject({
      status: "completed",
    });
    const asked = await world.run(isolate().app.run(flow, "ask", { id: "asks" }));
    if (asked.status !== "suspended") throw new Error(asked.status);
    await world.run(isolate().app.resume(asked.waiting[0]!.token, "yes", { drive: false }));
    expect(await world.run(isolate().app.run(flow, "ask", { id: "asks" }))).toMatchObject({
      status: "completed",
      output: "yes",
    });
  });

  test("at the same time as the first leaves one index object", async () => {
    const { world, flow, isolate, index } = stage();
    const starts = Array.from({ length: 6 }, (_, i) =>
      isolate(i).app.start(flow, "ask", { id: "r", drive: false }),
    );
    await world.run(Promise.all(starts));
    expect(await index()).toEqual(["index/running"]);
  });
});

test("a writer that loses a race removes the index objects that it made for it", async () => {
  const bucket = new MemoryBucket();
  const head = headOf();
  const winner = remote(bucket);
  await winner.append(batchOf(head, 0));
  let raced = false;
  const loser = remote(
    watched(bucket, (operation, key) => {
      if (raced || operation !== "create" || !key.startsWith("index/suspended/")) return;
      raced = true;
      // Lands before the record of the loser.
      void winner.append(batchOf({ ...head, updatedAt: 9 }, 1));
    }),
  );
  await loser.read(head.locator);
  const parked = { ...head, status: "suspended", wakeAt: null } as const;
  await expect(loser.append(batchOf(parked, 1))).rejects.toMatchObject({ code: "conflict" });
  expect((await keysOf(bucket, "index/")).map((key) => key.split("/")[1])).toEqual(["running"]);
});
