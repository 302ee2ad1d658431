/** Rows of what deleted runs used: one that is not a sum is refused, when sums are read and when a deletion adds to it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "spent-"));
afterAll(() => rmSync(folder, { recursive: true }));

const sum = { day: "2026-11-18", workflow: "paid", model: "m", inputTokens: 1, outputTokens: 1 };
const rows = [
  "",
  "1304954353",
  "null",
  "{}",
  JSON.stringify({ ...sum, inputTokens: "1" }),
  JSON.stringify({ ...sum, cost: null }),
  JSON.stringify({ ...sum, provider: 1 }),
];
test.each(rows.map((row, n) => [row, n] as const))("a row %j is corrupt", async (row, n) => {
  const path = join(folder, `${n}.db`);
  const storage = new SqliteStorage(path);
  const paid = durable("paid", (ctx) =>
    ctx.step("pay", ({ meter }) => meter({ model: "m", inputTokens: 1, outputTokens: 1, cost: 1 })),
  );
  const app = createApp({ storage, workflows: [paid], bind: false });
  await app.run(paid, undefined, { id: "a" });
  await app.run(paid, undefined, { id: "b" });
  await app.delete("a");
  const database = new DatabaseSync(path);
  const kept = database.prepare("SELECT row FROM spent").get() as { readonly row: string };
  const write = database.prepare("UPDATE spent SET row = ?");
  write.run(row);
  await expect(app.spend({ by: "model" })).rejects.toMatchObject({ code: "corrupt" });
  await expect(app.delete("b")).rejects.toMatchObject({ code: "corrupt" });
  write.run(kept.row);
  await app.delete("b");
  expect(await app.spend({ by: "model" })).toMatchObject({ cost: 2 });
  database.close();
  await storage.close();
});
