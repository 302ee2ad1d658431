/** What a step costs on Postgres, counted and not timed: statements, updates of the head, bytes of the write-ahead log. */

import { createApp, durable } from "@durable/core";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { freshSchema } from "./support/open.ts";
import { startPostgres, type PostgresServer } from "./support/server.ts";

const steps = 400;
const flow = durable("steps", async (ctx, count: number) => {
  for (let i = 0; i < count; i++) await ctx.step("work", () => ({ i, said: "a short answer of a model" }));
});

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  // Of its own, because the log is that of the whole server. No checkpoint and no vacuum comes between.
  server = await startPostgres(["autovacuum=off", "checkpoint_timeout=1h", "max_wal_size=4GB"]);
  pool = new Pool({ connectionString: server.url, max: 1 });
}, 120_000);
afterAll(async () => {
  await pool.end();
  await server.stop();
});

interface Counted {
  readonly bytes: number;
  /** Whole pages in the log, after a checkpoint. */
  readonly pages: number;
  readonly updates: number;
  readonly hot: number;
}

async function counted(): Promise<Counted> {
  const { rows } = await pool.query(`SELECT
    (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes, wal_fpi::float8 AS pages,
    (SELECT n_tup_upd::float8 FROM pg_stat_user_tables WHERE relname = 'runs') AS updates,
    (SELECT n_tup_hot_upd::float8 FROM pg_stat_user_tables WHERE relname = 'runs') AS hot FROM pg_stat_wal`);
  return rows[0] as Counted;
}

/** Drives a run in sessions of its own: a session that ends has sent its statistics. */
async function drive(count: number, id: string): Promise<number> {
  const sessions = new Pool({ connectionString: server.url, max: 4 });
  const storage = new PostgresStorage({ pool: sessions, listen: false });
  const app = createApp({ storage, workflows: [flow], patience: 0, bind: false });
  await app.run(flow, count, { id });
  const { appends } = storage.sent;
  await storage.close();
  await sessions.end();
  return appends;
}

test("a run changes its indexes when it is claimed and ends: its lease and its steps are cheap updates", async () => {
  const schema = freshSchema();
  const storage = new PostgresStorage({ pool, schema, listen: false });
  const head = headOf();
  const under = { lease: { owner: "a", ttlMs: 30_000 } };
  await storage.append(request(head, 0, {}));
  const table = `'${schema}.runs'::regclass`;
  /** Updates of the transaction that changed an index. */
  const dear = async (work: Promise<unknown>): Promise<number> => {
    await work;
    const { rows } = await pool.query<{ n: string }>(
      `SELECT pg_stat_get_xact_tuples_updated(${table}) - pg_stat_get_xact_tuples_hot_updated(${table}) AS n`,
    );
    return Number(rows[0]?.n);
  };
  // The pool has one connection, so that all of it is one transaction.
  await pool.query("BEGIN");
  const claim = { workflow: [head.workflow], dueAt: Date.now() + 60_000, limit: 1, quietMs: 5_000 };
  expect(await dear(storage.claim(claim))).toBe(1);
  expect(await dear(storage.lease(head.locator, "a", 30_000))).toBe(1);
  for (const position of [1, 2, 3])
    expect(await dear(storage.append(request(head, position, under)))).toBe(1);
  expect(await dear(storage.lease(head.locator, "a", 30_000))).toBe(2);
  expect(await dear(storage.lease(head.locator, "a", 30_000))).toBe(2);
  const ended = { ...head, status: "completed", wakeAt: null, dueSince: null } as const;
  expect(await dear(storage.append(request(ended, 4, { lease: null })))).toBe(3);
  await pool.query("ROLLBACK");
  const { rows } = await pool.query("SELECT FROM pg_indexes WHERE schemaname = $1 AND tablename = 'runs'", [
    schema,
  ]);
  expect(rows.length).toBeLessThanOrEqual(20);
  await storage.close();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
});

test("a step is one statement, one cheap update of the head, and at most 800 bytes of the log", async () => {
  await drive(50, "warm");
  const before = await counted();
  const appends = await drive(steps, "counted");
  await expect.poll(async () => (await counted()).updates - before.updates).toBeGreaterThanOrEqual(steps);
  const after = await counted();
  const of = (name: keyof Counted): number => after[name] - before[name];
  // The start and the end of the run are an append each.
  expect(appends).toBeLessThanOrEqual(steps + 2);
  expect(of("updates")).toBeLessThanOrEqual(steps + 3);
  expect(of("hot") / of("updates")).toBeGreaterThan(0.98);
  expect(of("bytes") / steps).toBeLessThanOrEqual(800);
}, 60_000);
