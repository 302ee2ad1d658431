import { readFileSync } from "node:fs";
import { MemoryStorage } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../../postgres/src/index.ts";
import { tempFolder } from "../../core/test/support/sqlite-temp.ts";
import { features } from "../src/features/suite.ts";
import { featurePage, type Column } from "../src/features/table.ts";

const root = new URL("../../../", import.meta.url);

function columns(): readonly Column[] {
  const { path, remove } = tempFolder();
  const sqlite = new SqliteStorage(path);
  const postgres = new PostgresStorage("postgres://localhost/never-opened");
  onTestFinished(async () => {
    await Promise.all([sqlite.close(), postgres.close()]);
    remove();
  });
  const bucket = new RemoteStorage(new MemoryBucket());
  return [
    { title: "Memory", storage: new MemoryStorage(), test: "packages/core/test/adapters/memory.test.ts" },
    { title: "SQLite", storage: sqlite, test: "packages/core/test/adapters/sqlite/conformance.test.ts" },
    { title: "Postgres", storage: postgres, test: "packages/postgres/test/features.test.ts" },
    { title: "Folder", storage: bucket, test: "packages/core/test/adapters/folder/features.full.test.ts" },
    { title: "S3", storage: bucket, test: "packages/s3/test/features.full.test.ts" },
    { title: "R2", storage: bucket, test: "packages/cloudflare/test/features.full.test.ts" },
  ];
}

// `npm run docs:features` writes the page.
test("the page of features says what the suite runs on each storage", async () => {
  const all = columns();
  for (const { test: file, title } of all)
    expect(readFileSync(new URL(file, root), "utf8"), title).toMatch(/\b(?:storage|remote)Features\(/);
  await expect(featurePage(features, all)).toMatchFileSnapshot(
    new URL("docs/reference/features.md", root).pathname,
  );
});
