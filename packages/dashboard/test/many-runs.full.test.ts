/** With ten times as many runs, lists, searches and ticks of a page cost as many statements and as many bytes. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteStorage } from "@durable/core/sqlite";
import type { Storage } from "@durable/core";
import { PostgresStorage } from "../../postgres/src/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPostgres, type PostgresServer } from "../../postgres/test/support/server.ts";
import { Site } from "./support/ask.ts";
import { addRuns, answered, appOn, ask, Counter, idle } from "./support/many-runs.ts";

const folder = mkdtempSync(join(tmpdir(), "dashboard-many-"));
let server: PostgresServer;
let counter: Counter;
beforeAll(async () => {
  server = await startPostgres();
  counter = new Counter();
});
afterAll(async () => {
  counter.restore();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Opened = Storage & { close(): Promise<void> };

describe.each<[string, () => Opened]>([
  ["SQLite", () => new SqliteStorage(join(folder, "journal.db"))],
  ["Postgres", () => new PostgresStorage({ url: server.url })],
])("5,000 runs on %s", (_name, open) => {
  test("a page asks no more than with 500, and hears of the oldest", async () => {
    const [storage, second] = [open(), open()];
    const [app, other] = [appOn(storage), appOn(second)];
    const site = new Site({ app });
    await addRuns(app, 0, 500);
    const few = await ask(site, counter);
    await addRuns(app, 500, 5_000);
    const many = await ask(site, counter);
    for (const [name, asked] of Object.entries(many)) {
      const before = few[name]!;
      // Sums and searches that read runs grow with those that fit, up to a bound that tests of their own have.
      const reads = /word|error|cost|pulse|attention|waits/.test(name);
      expect(asked.statements, name).toBeLessThanOrEqual(before.statements + (reads ? 12 : 2));
      if (reads) continue;
      expect(asked.rows, name).toBeLessThanOrEqual(Math.max(before.rows + 10, 3_600));
      expect(asked.bytes, name).toBeLessThanOrEqual(Math.max(before.bytes * 1.5, 20_000));
    }
    expect(many["list"]!.rows).toBeLessThanOrEqual(few["list"]!.rows + 2);
    expect(await idle(storage, counter, 10)).toBeLessThanOrEqual(2);
    const { states } = await answered(site, other, [7, 17, 27, 4_997]);
    expect(states).toEqual(["completed", "completed", "completed", "completed"]);
    await Promise.all([app.close(), other.close()]);
    await Promise.all([storage.close(), second.close()]);
  });
});
