/**
 * What a run costs on a full database, beside an empty one on the same server, in alternating rounds; then how long appends wait
 * while the tables are migrated to a made-up next version; then what a purge leaves.
 *
 *     npm run soak:size -- --ended 100000 --waiting 10000
 *     npm run soak:size -- --ended 1000000 --waiting 100000 --rounds 9 --purged 200000 --migrate
 *
 * A few runs are made by workers, and their rows are copied until the database is full. Statements, buffers and bytes of the log
 * (without whole pages) are counted by the server; the throughput says something as a ratio only. Each cycle of the purge deletes
 * some ended runs beside a worker and adds as many, so that a database without bloat has the same size after each.
 */

import { parseArgs } from "node:util";
import { createApp, createWorker, durable, type App } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";
import { Client, Pool } from "pg";
import { migrate, steps, type Step } from "../packages/postgres/src/migrate.ts";
import { settingsOf } from "../packages/postgres/src/settings.ts";
import { startPostgres } from "../packages/postgres/test/support/server.ts";
import { inLanes, pause, quantile } from "./fleet/children.ts";

const { values } = parseArgs({
  options: {
    ended: { type: "string", default: "1000000" },
    waiting: { type: "string", default: "100000" },
    rounds: { type: "string", default: "9" },
    runs: { type: "string", default: "200" },
    purged: { type: "string", default: "20000" },
    cycles: { type: "string", default: "3" },
    migrate: { type: "boolean", default: false },
  },
});
const [ended, waiting, rounds, runs] = [values.ended, values.waiting, values.rounds, values.runs].map(Number);
const [purged, cycles] = [Number(values.purged), Number(values.cycles)];

const five = durable("five", async (ctx) => {
  for (const step of ["a", "b", "c", "d", "e"]) await ctx.step(step, () => "a short answer of a model");
});
const nap = durable("nap", async (ctx) => {
  await ctx.step("before", () => "a short answer of a model");
  await ctx.sleep("30 days");
});

interface Side {
  readonly name: string;
  readonly url: string;
  readonly admin: Client;
}

interface Cost {
  readonly statements: number;
  readonly buffers: number;
  readonly bytes: number;
  readonly perSecond: number;
}

const server = await startPostgres([
  "autovacuum_naptime=5s",
  "checkpoint_timeout=1h",
  "max_wal_size=20GB",
  "shared_buffers=256MB",
]);

async function makeSide(name: string, root: Client): Promise<Side> {
  await root.query(`CREATE DATABASE ${name}_side`);
  const url = new URL(server.url);
  url.pathname = `/${name}_side`;
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  return { name, url: url.href, admin };
}

/** Runs work with a worker of its own, whose sessions end with it: then the server has their statistics. */
async function withWorker<T>(
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

async function drive(app: App, count: number): Promise<void> {
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

async function measure(side: Side): Promise<Cost> {
  const before = await counted(side);
  const took = await withWorker(side, async (app) => {
    const from = performance.now();
    await drive(app, runs ?? 0);
    return performance.now() - from;
  });
  // Sessions report their statistics when they end.
  let after = await counted(side);
  for (let last = -1; after.statements - last > 2;) {
    last = after.statements;
    await pause(2_000);
    after = await counted(side);
  }
  const per = (name: keyof Omit<Cost, "perSecond">): number => (after[name] - before[name]) / (runs ?? 1);
  return {
    statements: per("statements"),
    buffers: per("buffers"),
    bytes: per("bytes"),
    perSecond: ((runs ?? 0) * 1_000) / took,
  };
}

/** Copies of the rows of runs that workers have made. */
async function fill({ admin }: Side, workflow: string, count: number): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(`SELECT quote_ident(attname) AS name FROM pg_attribute
    WHERE attrelid = 'durable.runs'::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'locator', 'run_id')`);
  const columns = rows.map(({ name }) => name).join(", ");
  const mark = `~${++made}~`;
  for (let done = 0; done < count; done += 50_000) {
    const [from, to] = [done + 1, Math.min(done + 50_000, count)];
    await admin.query(
      `WITH t AS (
        SELECT *, row_number() OVER (ORDER BY id) - 1 AS nth, count(*) OVER () AS of_all FROM public.first_runs
        WHERE workflow = $1
      ), added AS (
        INSERT INTO durable.runs (locator, run_id, ${columns})
          SELECT substr(md5('${mark}' || n), 1, 18), t.run_id || '${mark}' || n, ${columns.replaceAll(/(\w+)/g, "t.$1")}
          FROM generate_series($2::int, $3::int) AS n JOIN t ON t.nth = n % t.of_all
        RETURNING id, run_id
      )
      INSERT INTO durable.batches (run, position, body)
        SELECT a.id, b.position, b.body FROM added a JOIN public.first_runs r ON r.run_id = split_part(a.run_id, '~', 1)
        JOIN public.first_batches b ON b.run = r.id`,
      [workflow, from, to],
    );
  }
}

/** Runs are started and driven, twenty at a time, until the work is done. Returns how many there were. */
async function underLoad(app: App, work: () => Promise<void>): Promise<number> {
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

/** What a later version might do to tables in use: a column, its value for all runs that are there, and an index. */
const next: Step = {
  change: (schema) => `ALTER TABLE ${schema}.runs ADD COLUMN IF NOT EXISTS flavour text`,
  fill: (schema) => `WITH part AS MATERIALIZED (
      SELECT id, locator FROM ${schema}.runs WHERE locator > $1 ORDER BY locator LIMIT $2 FOR UPDATE
    ), filled AS (
      UPDATE ${schema}.runs SET flavour = 'old' WHERE id IN (SELECT id FROM part) AND flavour IS NULL
    ) SELECT max(locator) AS last FROM part`,
  indexes: { runs_by_flavour: (schema) => `ON ${schema}.runs (flavour, id)` },
};

/** Migrates under load, and says how long the longest append took meanwhile. */
async function migrateUnderLoad(side: Side): Promise<void> {
  await withWorker(side, async (app, storage) => {
    const took: number[] = [];
    const append = storage.append.bind(storage);
    storage.append = async (request) => {
      const from = performance.now();
      try {
        return await append(request);
      } finally {
        took.push(performance.now() - from);
      }
    };
    await drive(app, 20);
    const quiet = quantile(took.splice(0), 0.99);
    const pool = new Pool({ connectionString: side.url, max: 2 });
    const from = performance.now();
    const driven = await underLoad(app, () => migrate(settingsOf({ pool }), [...steps, next]).then(() => {}));
    await pool.end();
    // This build reads the tables of its own version only.
    await side.admin.query(
      "ALTER TABLE durable.runs DROP COLUMN flavour; UPDATE durable.durable_version SET version = version - 1",
    );
    const seconds = ((performance.now() - from) / 1_000).toFixed(0);
    const [p99, most] = [quantile(took, 0.99), took.reduce((a, b) => Math.max(a, b), 0)].map((ms) =>
      ms.toFixed(0),
    );
    console.log(
      `\nmigrated in ${seconds} s beside ${driven} runs: appends p99 ${p99} ms (${quiet.toFixed(0)} before), at most ${most} ms`,
    );
  });
}

async function sizes({ admin }: Side): Promise<{ heap: number; indexes: number; batches: number }> {
  const { rows } = await admin.query<{ heap: number; indexes: number; batches: number }>(`SELECT
    pg_table_size('durable.runs')::float8 / 1048576 AS heap, pg_indexes_size('durable.runs')::float8 / 1048576 AS indexes,
    pg_total_relation_size('durable.batches')::float8 / 1048576 AS batches`);
  return rows[0] as { heap: number; indexes: number; batches: number };
}

const shown = (size: Awaited<ReturnType<typeof sizes>>): string =>
  Object.entries(size)
    .map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`)
    .join(", ");

const root = new Client({ connectionString: server.url });
await root.connect();
const sides = [await makeSide("empty", root), await makeSide("full", root)];
const [empty, full] = sides;
if (empty === undefined || full === undefined) throw new Error("There are two sides.");
try {
  for (const side of sides)
    await withWorker(side, async (app) => {
      await drive(app, 40);
      for (let n = 0; n < 10; n++) await app.start(nap, undefined, { id: `nap-${n}`, drive: false });
      while ((await app.list({ status: "suspended" })).runs.length < 10) await pause(100);
    });
  for (const table of ["runs", "batches"])
    await full.admin.query(`CREATE TABLE public.first_${table} AS SELECT * FROM durable.${table}`);
  await fill(full, "five", ended ?? 0);
  await fill(full, "nap", waiting ?? 0);
  await full.admin.query("VACUUM (ANALYZE)");
  await root.query("CHECKPOINT");
  console.log(`${ended} ended and ${waiting} waiting runs: ${shown(await sizes(full))}`);
  const costs = new Map<Side, Cost[]>(sides.map((side) => [side, []]));
  for (let round = 0; round <= (rounds ?? 0); round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const cost = await measure(side);
      // The first round warms up.
      if (round > 0) costs.get(side)?.push(cost);
    }
  const median = (side: Side, name: keyof Cost): number =>
    quantile(
      (costs.get(side) ?? []).map((cost) => cost[name]),
      0.5,
    );
  console.log("\n| per run of five steps | empty | full | ratio |\n|---|--:|--:|--:|");
  for (const name of ["statements", "buffers", "bytes", "perSecond"] as const) {
    const [few, many] = [median(empty, name), median(full, name)];
    console.log(`| ${name} | ${few.toFixed(1)} | ${many.toFixed(1)} | ${(many / few).toFixed(2)} |`);
  }
  if (values.migrate) await migrateUnderLoad(full);
  console.log(`\nbefore the purges: ${shown(await sizes(full))}`);
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const [deleted, took] = await withWorker(full, async (app) => {
      const from = performance.now();
      let deleted = 0;
      const driven = await underLoad(app, async () => {
        deleted = (await app.purge({ status: "completed", olderThan: 0, limit: purged })).runs;
      });
      console.log(`  ${driven} runs meanwhile`);
      return [deleted, performance.now() - from];
    });
    await fill(full, "five", purged);
    const rate = ((deleted * 1_000) / took).toFixed(0);
    console.log(
      `cycle ${cycle}: ${deleted} deleted, ${rate} a second beside a worker, as many added: ${shown(await sizes(full))}`,
    );
  }
} finally {
  await Promise.all([root, ...sides.map(({ admin }) => admin)].map((client) => client.end()));
  await server.stop();
}
process.exit();
