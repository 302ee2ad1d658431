/** One damaged row or journal: lists, inbox and page show it as damaged, and the rest; over HTTP, too. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type App, createApp, createWorker, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { createHandler } from "@durable/http";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { Inbox, RunList, RunWaits } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

const folder = mkdtempSync(join(tmpdir(), "dashboard-damaged-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ask = durable("ask", (ctx) => ctx.suspend("approve", { note: "May I?" }));
const work = durable("work", async (ctx) => {
  await ctx.sleep(1);
  return ctx.step("work", () => 1);
});

let files = 0;

async function waiting(): Promise<{ app: App; tamper: (text: string) => void }> {
  const path = join(folder, `journal-${++files}.db`);
  const storage = new SqliteStorage(path);
  const app = createApp({ storage, workflows: [ask, work], secret, bind: false, patience: 0 });
  onTestFinished(() => app.close());
  for (const id of ["a", "b", "c"]) await app.start("ask", undefined, { id });
  await expect
    .poll(async () => (await app.list({ status: "suspended" })).runs.length, { timeout: 10_000 })
    .toBe(3);
  const tamper = (text: string): void => {
    const database = new DatabaseSync(path);
    expect(database.prepare(text).run().changes).toBeGreaterThan(0);
    database.close();
  };
  return { app, tamper };
}

test("a damaged row is listed as such, over HTTP and on the page, beside the others", async () => {
  const { app, tamper } = await waiting();
  tamper("UPDATE runs SET status = 'failed' WHERE run_id = 'b'");
  const site = new Site({ app });
  const { runs } = await site.get<RunList>("runs");
  const listedRuns = runs.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  expect(listedRuns.map(({ runId, state, blocked }) => [runId, state, blocked?.code])).toEqual([
    ["a", "waiting", undefined],
    ["b", "blocked", "corrupt"],
    ["c", "waiting", undefined],
  ]);
  const handler = createHandler(app, { authorize: () => true });
  const reply = await handler(new Request("http://x/runs"));
  expect(reply.status).toBe(200);
  const listed = (await reply.json()) as { runs: { runId: string; status: string; error?: object }[] };
  expect(listed.runs).toHaveLength(3);
  expect(listed.runs.find(({ runId }) => runId === "b")).toMatchObject({
    status: "blocked",
    error: { code: "corrupt", message: expect.stringContaining("differs from what was written") },
  });
  const inbox = await site.get<Inbox>("inbox");
  expect(inbox.items.map(({ runId }) => runId).toSorted()).toEqual(["a", "c"]);
  expect(inbox.unreadable).toMatchObject([{ runId: "b", workflow: "ask" }]);
  // The page of the run says why; the pages of others are there.
  const own = await site.fetch("/api/runs/b");
  expect(await own.json()).toMatchObject({
    error: { code: "corrupt", message: expect.stringContaining("Restore it from a backup") },
  });
  expect((await site.fetch("/api/runs/a")).status).toBe(200);
});

test("a damaged journal leaves lists and the inbox of the others whole", async () => {
  const { app, tamper } = await waiting();
  tamper("UPDATE batches SET body = 'x' WHERE locator = (SELECT locator FROM runs WHERE run_id = 'b')");
  const site = new Site({ app });
  expect((await site.get<RunList>("runs")).runs).toHaveLength(3);
  const inbox = await site.get<Inbox>("inbox");
  expect(inbox.items.map(({ runId }) => runId).toSorted()).toEqual(["a", "b", "c"]);
  const refused = await site.fetch("/api/runs/b/waits");
  expect(refused.status).toBe(500);
  expect(await refused.text()).toContain("differs from what was written");
  expect((await site.get<RunWaits>("runs/a/waits")).waits).toMatchObject([{ note: "May I?" }]);
});

test("a damaged row that is due keeps no worker from the other runs", async () => {
  const { app, tamper } = await waiting();
  for (const id of ["w1", "w2", "w3"]) await app.start("work", undefined, { id, delay: 50 });
  tamper("UPDATE runs SET steps = 9 WHERE run_id = 'w1'");
  tamper("UPDATE runs SET ancestors = '{', flow = '{' WHERE run_id = 'w2'");
  const worker = createWorker(app, { interval: 20 });
  onTestFinished(() => worker.stop());
  expect(await app.get("w3").result()).toBe(1);
  const { runs } = await app.list({ workflow: "work" });
  const sorted = runs.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  expect(sorted.map(({ runId, blocked }) => [runId, blocked?.code])).toEqual([
    ["w1", "corrupt"],
    ["w2", "corrupt"],
    ["w3", undefined],
  ]);
});
