/** Databases beside each other on one server: workers that drive runs in them, what a run costs there, copies of runs, sizes. */

import { createApp, createWorker, durable, type App } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";
import { Client } from "pg";
import { progress } from "./bounds.ts";
import { inLanes, pause } from "./children.ts";

const five = durable("five", async (ctx) => {
  for (const step of ["a", "b", "c", "d", "e"]) await ctx.step(step, () => "a short answer of a model");
});
export const nap = durable("nap", async (ctx) => {
  await ctx.step("before", () => "a short answer of a model");
  await ctx.sleep("30 days");
});

export interface Side {
  readonly name: string;
  readonly url: string;
  readonly admin: Client;
}

export interface Cost {
  readonly statements: number;
  readonly buffers: number;
  readonly bytes: number;
  readonly perSecond: number;
}

export async function makeSide(name: string, server: string, root: Client): Promise<Side> {
  await root.query(`CREATE DATABASE ${name}_side`);
  const url = new URL(server);
  url.pathname = `/${name}_side`;
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  return { name, url: url.href, admin };
}

/** Runs work with a worker of its own, whose sessions end with it: then the server has their statistics. */
export async function withWorker<T>(
  { url }: Side,
  work: (app: App, storage: PostgresStorage) => Promise<T>,
): Promise<T> {
  const storage = new PostgresStorage({ url, poll: "1 hour" });
  const app = createApp({
    storage,
    workflows: [five, nap],
    secret: "a secret of a long test",
    bind: false,
    patience: 0,
  });
  const worker = createWorker(app, { concurrency: 20, idleInterval: "1 hour" });
  try {
    return await work(app, storage);
  } finally {
    await worker.stop();
    await storage.close();
  }
}

let made = 0;

export async function drive(app: App, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => `run-${++made}`);
  await inLanes(ids, 20, async (id) => {
    await app.start(five, undefined, { id, drive: false });
    await app.get(id).result({ wait: true });
  });
}

async function counted({ admin }: Side): Promise<Omit<Cost, "perSecond">> {
  const { rows } = await admin.query<Record<"statements" | "buffers" | "bytes", number>>(`SELECT
    xact_commit::float8 AS statements, (blks_hit + blks_read)::float8 AS buffers,
    (pg_current_wal_insert_lsn() - '0/0')::float8 - 8192 * (SELECT wal_fpi FROM pg_stat_wal)::float8 AS bytes
    FROM pg_stat_database WHERE datname = current_database()`);
  return rows[0] as Omit<Cost, "perSecond">;
}

export async function measure(side: Side, runs: number): Promise<Cost> {
  const before = await counted(side);
  const took = await withWorker(side, async (app) => {
    const from = performance.now();
    await drive(app, runs);
    return performance.now() - from;
  });
  // Sessions report their statistics when they end.
  let after = await counted(side);
  for (let last = -1; after.statements - last > 2;) {
    last = after.statements;
    await pause(2_000);
    after = await counted(side);
  }
  const per = (name: keyof Omit<Cost, "perSecond">): number => (after[name] - before[name]) / runs;
  return {
    statements: per("statements"),
    buffers: per("buffers"),
    bytes: per("bytes"),
    perSecond: (runs * 1_000) / took,
  };
}

/** Copies of the rows of runs that workers have made, ten for each millisecond up to now, so that they grow old in turn. */
export async function fill({ admin }: Side, workflow: string, count: number): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(`SELECT quote_ident(attname) AS name FROM pg_attribute
    WHERE attrelid = 'durable.runs'::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'locator', 'run_id', 'created_at', 'updated_at')`);
  const columns = rows.map(({ name }) => name).join(", ");
  const mark = `~${++made}~`;
  const now = Date.now();
  for (let done = 0; done < count; done += 50_000) {
    const [from, to] = [done + 1, Math.min(done + 50_000, count)];
    await admin.query(
      `WITH t AS (
        SELECT *, row_number() OVER (ORDER BY id) - 1 AS nth, count(*) OVER () AS of_all FROM public.first_runs
        WHERE workflow = $1
      ), added AS (
        INSERT INTO durable.runs (locator, run_id, created_at, updated_at, ${columns})
          SELECT substr(md5('${mark}' || n), 1, 18), t.run_id || '${mark}' || n,
            floor(now.ms - (${count} - n) / 10), floor(now.ms - (${count} - n) / 10), ${columns.replaceAll(/(\w+)/g, "t.$1")}
          FROM (SELECT ${now}::float8 AS ms) AS now CROSS JOIN generate_series($2::int, $3::int) AS n JOIN t ON t.nth = n % t.of_all
        RETURNING id, run_id
      )
      INSERT INTO durable.batches (run, position, body)
        SELECT a.id, b.position, b.body FROM added a JOIN public.first_runs r ON r.run_id = split_part(a.run_id, '~', 1)
        JOIN public.first_batches b ON b.run = r.id`,
      [workflow, from, to],
    );
    progress(`filled: ${to} of ${count} runs of ${workflow}`);
  }
}

/** Runs are started and driven, twenty at a time, until the work is done. Returns how many there were. */
export async function underLoad(app: App, work: () => Promise<void>): Promise<number> {
  const load = { over: false, runs: 0 };
  const loading = (async () => {
    while (!load.over) {
      await drive(app, 20);
      load.runs += 20;
    }
  })();
  await work();
  load.over = true;
  await loading;
  return load.runs;
}

/** Megabytes on disk, and how many runs are there. */
export interface Sizes {
  readonly runs: number;
  readonly heap: number;
  readonly indexes: number;
  readonly batches: number;
}

export async function sizes({ admin }: Side): Promise<Sizes> {
  const { rows } = await admin.query<Sizes>(`SELECT (SELECT count(*) FROM durable.runs)::float8 AS runs,
    pg_table_size('durable.runs')::float8 / 1048576 AS heap, pg_indexes_size('durable.runs')::float8 / 1048576 AS indexes,
    pg_total_relation_size('durable.batches')::float8 / 1048576 AS batches`);
  return rows[0] as Sizes;
}

export const shown = ({ runs, ...size }: Sizes): string =>
  `${runs} runs, ${Object.entries(size)
    .map(([name, mb]) => `${name} ${mb.toFixed(1)} MB`)
    .join(", ")}`;

/** Waits until autovacuum has come, as in days between purges, so that space of deleted rows can be used again. */
export async function vacuumed({ admin }: Side): Promise<number> {
  const from = performance.now();
  for (let said = 0; ; await pause(500)) {
    // Autovacuum comes at a twentieth and 50 rows.
    const { rows } = await admin.query<{ dead: number }>(`SELECT coalesce(sum(n_dead_tup), 0)::float8 AS dead
      FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
      WHERE schemaname = 'durable' AND t.relname IN ('runs', 'batches') AND n_dead_tup > greatest(reltuples, 0) * 0.05 + 50`);
    const [dead, seconds] = [rows[0]?.dead ?? 0, (performance.now() - from) / 1_000];
    if (dead === 0) return seconds;
    if (seconds > 1_800) throw new Error(`Autovacuum has not come in half an hour: ${dead} dead rows`);
    if (seconds > said + 20) {
      said = seconds;
      progress(`autovacuum is awaited: ${dead} dead rows`);
    }
  }
}
