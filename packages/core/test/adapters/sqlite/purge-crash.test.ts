import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, inject, it } from "vitest";
import { createApp, durable } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { memoryFolder, tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

const leaf = durable("leaf", (ctx, n: number) => ctx.step("work", () => `${n} ${"x".repeat(2_000)}`));
const root = durable("root", async (ctx, n: number) => {
  const text = await ctx.child(leaf, n);
  return ctx.step("end", () => text.length);
});

const full = inject("full");
let temp: TempFolder;
beforeEach(() => {
  temp = tempFolder(full ? undefined : memoryFolder);
});
afterEach(async () => {
  await killChildren();
  temp.remove();
});

const [families, kills] = full ? [350, 8] : [150, 2];

it(`a purge that is killed ${kills} times leaves no half of a family, and the next one goes on`, async () => {
  const storage = new SqliteStorage(temp.path);
  const app = createApp({ storage, workflows: [root, leaf] });
  await Promise.all(
    Array.from({ length: families }, (_, n) => root.with({ storage }).run(n, { id: `r${n}` })),
  );
  const waiting = durable("root", async (ctx, n: number) => {
    const text = await ctx.child(leaf, n);
    await ctx.suspend("go on");
    return text.length;
  }).with({ storage });
  const forks = ["r5", "r70", `r${families - 1}`];
  for (const id of forks) {
    const fork = await waiting.fork(id, { from: "end", id: `fork-${id}` });
    await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
  }
  for (let n = 0; n < kills; n++) {
    const child = new Child("sqlite-child-purge.ts", [temp.path]);
    await child.line(n % 2 === 0 ? "up" : "gone ");
    // At another place of a batch each time.
    await new Promise((resolve) => setTimeout(resolve, n * 3));
    await child.kill();
    const left = [];
    for (let cursor: string | null = null; ;) {
      const page = await storage.list({ limit: 1_000, cursor });
      left.push(...page.runs);
      cursor = page.next;
      if (cursor === null) break;
    }
    const ids = new Set(left.map(({ runId }) => runId));
    const orphans = left.filter((head) => head.workflow === "leaf" && !ids.has(head.parent ?? ""));
    expect(orphans.map(({ runId }) => runId)).toEqual([]);
    expect((await storage.backup(join(temp.folder, `copy-${n}.db`))).runs).toBeGreaterThanOrEqual(
      left.length,
    );
  }
  const child = new Child("sqlite-child-purge.ts", [temp.path]);
  expect((await child.done()).at(-1)).toBe("done");
  expect((await storage.list()).runs.map(({ runId }) => runId).toSorted()).toEqual(
    forks.map((id) => `fork-${id}`).toSorted(),
  );
  // The runs that living forks read are hidden, and go with them.
  for (const id of forks) {
    const outcome = await waiting.get(`fork-${id}`).outcome();
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    const { outcome: end } = await waiting.resume(outcome.waiting[0]?.token ?? "", "yes");
    expect(end).toMatchObject({ status: "completed" });
  }
  expect(await app.purge({ olderThan: 0 })).toMatchObject({ runs: forks.length });
  await storage.close();
  const database = new DatabaseSync(temp.path);
  for (const table of ["runs", "batches", "readers", "blobs", "named"])
    expect(database.prepare(`SELECT count(*) AS n FROM ${table}`).get(), table).toEqual({ n: 0 });
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
});
