import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualWorld } from "@durable/testing";
import { createApp, createWorker, durable } from "../../../src/index.ts";
import type { RunEntry } from "../../../src/journal/outcome.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { textOf } from "../../support/blobs-flow.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { spyOnDatabases, type DatabaseSpy } from "./support/spy.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let spy: DatabaseSpy;

beforeEach(() => {
  temp = tempFolder();
  spy = spyOnDatabases();
});
afterEach(async () => {
  spy.restore();
  await killChildren();
  temp.remove();
});

/** Lets the file grow by so many pages and no more; null lifts the limit. */
function allow(pages: number | null): void {
  const now = Number(spy.last.prepare("PRAGMA page_count").get()?.["page_count"]);
  spy.last.exec(`PRAGMA max_page_count = ${pages === null ? 2 ** 30 : now + pages}`);
}

function mounts(size: string, folder: string): string {
  return `mount -t tmpfs -o size=${size} none ${folder}`;
}

/** Takes as much space as it is long: what repeats in a value is stored once. */
const large = textOf(1, 200_000);

function settledSteps(entries: readonly RunEntry[]): string[] {
  return entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry.key] : []));
}

describe("a full disk (H73)", () => {
  it("is storage-full for appends, harmless to reads, and over when there is space", async () => {
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    allow(0);
    await expect(storage.append(request("one", 1, large))).rejects.toMatchObject({ code: "storage-full" });
    expect(await storage.read("one")).toMatchObject({ batches: ["one 0"], length: 1 });
    expect((await storage.list()).runs).toHaveLength(1);
    allow(null);
    await storage.append(request("one", 1, large));
    expect((await storage.read("one")).length).toBe(2);
    await storage.close();
  });

  it("leaves no part of the commit that did not fit, and tells every write in it", async () => {
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    allow(2);
    const writes = [
      storage.append(request("one", 1)),
      storage.append(request("two", 0)),
      storage.lease("one", "a", 1_000),
      storage.append(request("three", 0, large)),
      storage.append(request("four", 0)),
    ];
    const settled = await Promise.allSettled(writes);
    expect(settled.map((result) => result.status === "rejected" && result.reason.code)).toEqual(
      writes.map(() => "storage-full"),
    );
    expect((await storage.read("one")).length).toBe(1);
    expect((await storage.list()).runs.map(({ locator }) => locator)).toEqual(["one"]);
    allow(null);
    expect(await storage.lease("one", "b", 1_000), "the lease was rolled back too").not.toBeNull();
    await storage.close();
  });

  it("parks a workflow's append until there is space; the step is not run again", async () => {
    const storage = new SqliteStorage(temp.path);
    let calls = 0;
    let whileFull = -1;
    const flow = durable(
      "full",
      (ctx) =>
        ctx.step("call", () => {
          calls += 1;
          allow(0);
          setTimeout(() => {
            whileFull = Number(spy.last.prepare("SELECT count(*) AS n FROM batches").get()?.["n"]);
            allow(null);
          }, 100);
          return large;
        }),
      { storage },
    );
    expect(await flow.run()).toMatchObject({ status: "completed", output: large });
    expect(calls).toBe(1);
    expect(whileFull, "the run's first entry, and nothing of the step").toBe(1);
    await storage.close();
  });

  it("for five minutes leaves runs parked and readable, and a worker ends them all unaided", async () => {
    const world = virtualWorld();
    const storage = new SqliteStorage({ path: temp.path, now: () => world.now() });
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void world.timer(ms, resolve));
    const bodies: string[] = [];
    const flow = durable("filled", async (ctx) => {
      const done: number[] = [];
      for (const name of ["before", "during", "after"]) {
        const text = await ctx.step(name, async () => {
          bodies.push(`${ctx.runId} ${name}`);
          await pause(1_000);
          return textOf(bodies.length, 20_000);
        });
        done.push(text.length);
      }
      return done;
    });
    const app = createApp({ storage, world, workflows: [flow] });
    const ids = ["a", "b", "c", "d", "e"];
    const bound = flow.with({ storage, world });
    const starts = ids.map((id) => bound.start(undefined, { id }));
    await world.run(Promise.all(starts));
    await world.advance(1_500);
    const worker = createWorker(app);

    allow(0);
    await world.advance(300_000);
    const before = await Promise.all(ids.map((id) => app.get(id).entries()));
    expect(before.map(settledSteps), "what was recorded can be read").toEqual(ids.map(() => ["before"]));
    expect((await app.list({ status: "running" })).runs).toHaveLength(5);

    allow(null);
    await world.advance(300_000);
    for (const id of ids)
      expect(await app.get(id).outcome()).toMatchObject({
        status: "completed",
        output: [20_000, 20_000, 20_000],
      });
    const after = await Promise.all(ids.map((id) => app.get(id).entries()));
    expect(after.map(settledSteps), "one record each").toEqual(ids.map(() => ["before", "during", "after"]));
    expect(
      bodies.filter((body) => body.endsWith("before")),
      "what was recorded was not run again",
    ).toHaveLength(5);
    await world.run(worker.stop());
    await storage.close();
  });

  // A mount of its own, seen by the child alone, which goes when the child does.
  const under = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
  const canMount =
    process.platform === "linux" &&
    spawnSync(under[0] as string, [...under.slice(1), mounts("64k", "/mnt")]).status === 0;

  it.skipIf(!canMount)(
    "is the same on a disk that is really full (skipped where mounting is not allowed)",
    async () => {
      const folder = join(temp.folder, "disk");
      mkdirSync(folder);
      const child = new Child("sqlite-child-full.ts", [folder], {
        under: [...under, `${mounts("2m", folder)} && exec "$@"`, "sh"],
      });
      expect(await child.done()).toEqual([
        "append: storage-full",
        "read: one 0 true",
        "list: 1",
        "workflow: completed 1",
        "append again: true",
      ]);
    },
  );
});
