/** Runs with an open wait, whatever else they do: the flag, the selector, and what takes the same filters. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable, Journal, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Project } from "./support/lab.ts";

const project = new Project();
let storage: SqliteStorage;
let app: App;

/** Asks a person while a step works. */
const busy = durable("busy", (ctx) =>
  ctx.parallel({
    ask: (c) => c.suspend("pay", { note: { question: "Pay 40?" } }),
    work: (c) =>
      c.step("work", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject))),
  }),
);
const asleep = durable("asleep", (ctx) => ctx.sleep("1 day"));

const untilWaiting = (): Promise<void> =>
  vi.waitFor(async () => expect((await app.list({ waiting: true })).runs).toHaveLength(1), 10_000);

beforeAll(async () => {
  mkdirSync(join(project.folder, ".durable"));
  storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  app = createApp({ storage, workflows: [busy, asleep], bind: false, patience: 0 });
  void app.run(busy, undefined, { id: "busy-1" }).catch(() => null);
  await untilWaiting();
  await app.run(asleep, undefined, { id: "asleep-1" });
  await (await Journal.open("chat-1", { app })).record("say", () => "hello");
});
afterAll(async () => {
  await app.close();
  await storage.close();
  project.remove();
});

test("ls --waiting has runs with an open wait, also one that works", async () => {
  expect(await project.json(["ls", "--waiting"])).toMatchObject({
    runs: [{ runId: "busy-1", state: "running" }],
  });
  expect(await project.json(["ls", "--where", "waiting:yes workflow:busy"])).toMatchObject({
    runs: [{ runId: "busy-1" }],
  });
  expect(await project.json(["ls", "--waiting", "--workflow", "asleep"])).toMatchObject({ runs: [] });
});

test("@waiting is the run whose wait expires first; @running is no open journal", async () => {
  expect(await project.json(["show", "@waiting"])).toMatchObject({ run: { runId: "busy-1" } });
  expect(await project.json(["show", "@running"])).toMatchObject({ run: { runId: "busy-1" } });
  expect(await project.json(["show", "@suspended"])).toMatchObject({ run: { runId: "asleep-1" } });
});

test("commands on many runs take the flag", async () => {
  const { out } = await project.cli(["cancel", "--waiting", "--dry-run"]);
  expect(out).toContain("busy-1");
  expect(out).not.toContain("asleep-1");
  const paused = await project.cli(["pause", "--waiting", "--dry-run"]);
  expect(paused.out).toContain("busy-1");
  expect((await project.cli(["help"])).out).toContain("@waiting");
  expect((await project.cli(["help", "export"])).out).toContain("--waiting");
});

test("the answer of resume @waiting is taken; without an open wait it says so", async () => {
  expect(await project.json(["resume", "@waiting", "--data", "true"])).toMatchObject({
    runId: "busy-1",
    status: "accepted",
  });
  await vi.waitFor(async () => {
    const { code, err } = await project.cli(["show", "@waiting"]);
    expect([code, err]).toEqual([3, expect.stringContaining("No run has an open wait.")]);
  }, 10_000);
});
