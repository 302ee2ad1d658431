/** What the storage needs of a server, for the table of docs/guides/operate/how-large.md. */

import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { openSchema } from "./support/open.ts";

const url = inject("postgres");

test("its functions are in SQL and plpgsql; there is no extension and no advisory lock", async () => {
  const place = openSchema();
  onTestFinished(() => place.close());
  await place.open().list();
  const rows = await place.sql<{ language: string; mentions: boolean }>(
    `SELECT l.lanname AS language, bool_or(p.prosrc ~* 'advisory') AS mentions FROM pg_proc p
     JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = '${place.schema}'::regnamespace GROUP BY 1 ORDER BY 1`,
  );
  expect(rows).toEqual([
    { language: "plpgsql", mentions: false },
    { language: "sql", mentions: false },
  ]);
  expect(await place.sql("SELECT extname FROM pg_extension")).toEqual([{ extname: "plpgsql" }]);
});

test("a session that is read-only reads, and says why it does not write", async () => {
  const place = openSchema();
  const address = new URL(url);
  address.searchParams.set("options", "-c default_transaction_read_only=on");
  const head = headOf();
  await place.open().append(request(head, 0));
  const storage = new PostgresStorage({ url: address.href, schema: place.schema, listen: false });
  onTestFinished(async () => {
    await storage.close();
    await place.close();
  });
  expect((await storage.read(head.locator)).length).toBe(1);
  await expect(storage.append(request(head, 1))).rejects.toMatchObject({
    code: "storage-readonly",
    message: expect.stringContaining("its transactions are read-only"),
  });
  expect(await place.sql("SELECT length FROM S.runs")).toEqual([{ length: 1 }]);
});
