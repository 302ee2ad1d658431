/** Changes reach an open page, and connections end with it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { RunList } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { Events } from "./support/events.ts";
import { secret } from "./support/journals.ts";

const folder = mkdtempSync(join(tmpdir(), "dashboard-live-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A storage without `changed`, as buckets are. */
function polled(): Storage {
  const storage = new MemoryStorage();
  Object.defineProperty(storage, "changed", { value: undefined });
  return storage;
}

describe.each([
  ["memory", () => new MemoryStorage()],
  ["sqlite", () => new SqliteStorage(join(folder, "journal.db"))],
  ["a storage that is polled", polled],
])("on %s", (_name, open) => {
  const flow = durable("flow", async (ctx) => {
    await ctx.step("one", () => 1);
    await ctx.suspend("wait");
  });

  test("a page of a run hears of every append, and a list of new runs", async () => {
    const storage = open();
    const app = createApp({ storage, secret, workflows: [flow] });
    const site = new Site({ app });
    await app.start("flow", null, { id: "r1", drive: false });
    const run = await Events.open(site, "events?run=r1");
    const list = await Events.open(site, "events");
    expect(await run.count("run", 1)).toBe(1);
    await app.advance("r1");
    await run.count("run", 2);
    // Once after the watch has begun, and then for each change.
    await list.count("runs", 1);
    const before = await list.count("runs");
    await app.start("flow", null, { id: "r2", drive: false });
    expect(await list.count("runs", before + 1)).toBeGreaterThan(before);
    await Promise.all([run.close(), list.close()]);
    await (storage as Storage).close?.();
  });
});

test("a list hears of a step that takes long, and shows it", async () => {
  const work = Promise.withResolvers<void>();
  const slow = durable("slow", (ctx) => ctx.step("long", () => work.promise));
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [slow] });
  const site = new Site({ app });
  const run = await app.start("slow", null, { id: "r1" });
  await run.entries();
  const list = await Events.open(site, "events");
  await list.count("runs", 1);
  const shown = async () => (await site.get<RunList>("runs")).runs[0]?.doing;
  for (let heard = 1; (await shown()) === undefined;) heard = await list.count("runs", heard + 1);
  expect(await shown()).toMatchObject([{ key: "long" }]);
  work.resolve();
  await run.result();
  expect(await shown()).toBe(undefined);
  await list.close();
});

test("a stream comes chunk by chunk, and ends", async () => {
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const story = durable("story", async (ctx) => {
    await ctx.stream("tell", async function* () {
      yield "once";
      await gate;
      yield "upon";
    });
  });
  const storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows: [story] });
  const site = new Site({ app });
  await app.start("story", null, { id: "s1" });
  const reader = await Events.open(site, "runs/s1/stream?key=tell");
  expect(await reader.until((text) => text.includes("once"))).not.toContain("upon");
  go();
  const text = await reader.until((all) => all.includes("event: end"));
  expect(text.match(/data: "\w+"/g)).toEqual(['data: "once"', 'data: "upon"']);
});

test("connections that are closed are given back; too many are refused", async () => {
  const storage = new MemoryStorage();
  const site = new Site({ storage });
  const open = await Promise.all(Array.from({ length: 100 }, () => Events.open(site, "events")));
  expect((await site.fetch("/api/events")).status).toBe(429);
  await Promise.all(open.map((reader) => reader.close()));
  // The watch ends after the reader.
  const again = await vi.waitFor(() => Events.open(site, "events"), { timeout: 60_000 });
  await again.close();
});
