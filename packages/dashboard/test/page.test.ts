/** The page in a real browser, on SQLite. The same on Postgres, and at full size, runs in `npm run test:full`. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll } from "vitest";
import { pageSuite } from "./support/page-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "dashboard-page-"));
let storage: SqliteStorage | undefined;

// Its size is that of inject("full").
pageSuite("sqlite", () => {
  storage = new SqliteStorage(join(folder, "journal.db"));
  return Promise.resolve(storage);
});

afterAll(async () => {
  await storage?.close();
  rmSync(folder, { recursive: true, force: true });
});
