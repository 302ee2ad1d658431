/**
 * What a run costs on a full database, beside an empty one on the same server, in alternating rounds; then what purges leave; then
 * how long appends wait while the tables are migrated to a made-up next version.
 *
 *     npm run soak:size -- --ended 100000 --waiting 10000
 *     npm run soak:size -- --ended 1000000 --waiting 100000 --rounds 9 --purged 200000 --migrate
 *
 * A few runs are made by workers, and their rows are copied until the database is full. Statements, buffers and bytes of the log
 * (without whole pages) are counted by the server; the throughput says something as a ratio only. Each cycle of the purge deletes
 * some ended runs beside a worker and, when autovacuum has come, adds as many, so that a database without bloat has the same size
 * for each run after each.
 *
 * Ends with a line for each bound, and with the exit code 1 when one is broken.
 */

import { parseArgs } from "node:util";
import { Client, Pool } from "pg";
import { migrate, steps, type Step } from "../packages/postgres/src/migrate.ts";
import { settingsOf } from "../packages/postgres/src/settings.ts";
import { startPostgres } from "../packages/postgres/test/support/server.ts";
import { keep, leaveOut, progress, sayBounds } from "./fleet/bounds.ts";
import { pause, quantile } from "./fleet/children.ts";
import {
  drive,
  fill,
  makeSide,
  measure,
  nap,
  shown,
  sizes,
  underLoad,
  vacuumed,
  withWorker,
} from "./fleet/size-side.ts";
import type { Cost, Side, Sizes } from "./fleet/size-side.ts";

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
const [ended, waiting, rounds, runs, purged, cycles] = [
  Number(values.ended),
  Number(values.waiting),
  Number(values.rounds),
  Number(values.runs),
  Number(values.purged),
  Number(values.cycles),
];

/**
 * A median of fewer rounds is that of a busy machine. Statements do not depend on the size, and neither do bytes of the log;
 * they vary with how often a worker looks. Buffers may grow by the depth of an index, which is one page for a hundred times as
 * many runs, of about ten that a statement reads.
 */
const fewestRounds = 5;
const leastThroughput = 0.85;
const mostCost = 1.25;
/** Much longer than a checkpoint takes to sync, and much less than what a driver waits for. */
const longestAppendMs = 2_000;
/** Free space of pages that no insert has found yet; a table that grows with each cycle passes it in the second or third. */
const mostGrowth = 1.15;

const server = await startPostgres([
  "autovacuum_naptime=5s",
  "checkpoint_timeout=1h",
  "max_wal_size=20GB",
  "shared_buffers=256MB",
]);

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
    const [p99, most] = [quantile(took, 0.99), took.reduce((a, b) => Math.max(a, b), 0)];
    console.log(
      `\nmigrated in ${seconds} s beside ${driven} runs: appends p99 ${p99.toFixed(0)} ms (${quiet.toFixed(0)} before), at most ${most.toFixed(0)} ms`,
    );
    keep("longest append during the migration", Math.round(most), { most: longestAppendMs, unit: "ms" });
  });
}

/** Alternating rounds on the full side and the empty one. */
async function compare(sides: readonly [Side, Side]): Promise<void> {
  const costs = new Map<Side, Cost[]>(sides.map((side) => [side, []]));
  for (let round = 0; round <= rounds; round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const cost = await measure(side, runs);
      progress(`round ${round} of ${rounds}, ${side.name}: ${cost.perSecond.toFixed(0)} runs a second`);
      // The first round warms up.
      if (round > 0) costs.get(side)?.push(cost);
    }
  console.log("\n| per run of five steps | empty | full | ratio |\n|---|--:|--:|--:|");
  for (const name of ["statements", "buffers", "bytes", "perSecond"] as const) {
    const [few = NaN, many = NaN] = sides.map((side) =>
      quantile(
        (costs.get(side) ?? []).map((cost) => cost[name]),
        0.5,
      ),
    );
    console.log(`| ${name} | ${few.toFixed(1)} | ${many.toFixed(1)} | ${(many / few).toFixed(2)} |`);
    if (name !== "perSecond")
      keep(`${name} of the full database, of the empty one`, many / few, { most: mostCost });
    else if (rounds < fewestRounds) leaveOut("throughput", `${rounds} rounds are fewer than ${fewestRounds}`);
    else keep("throughput of the full database, of the empty one", many / few, { least: leastThroughput });
  }
}

/** Deletes some ended runs beside a worker, and adds as many. */
async function purgeCycle(full: Side, cycle: number): Promise<Sizes> {
  const before = await sizes(full);
  const [deleted, driven, took] = await withWorker(full, async (app) => {
    const from = performance.now();
    let deleted = 0;
    const driven = await underLoad(app, async () => {
      deleted = (await app.purge({ status: "completed", olderThan: 0, limit: purged })).runs;
    });
    return [deleted, driven, performance.now() - from];
  });
  const gone = before.runs + driven - (await sizes(full)).runs;
  progress(`cycle ${cycle} of ${cycles}: ${deleted} deleted`);
  const waited = await vacuumed(full);
  await fill(full, "five", purged);
  const after = await sizes(full);
  const rate = ((deleted * 1_000) / took).toFixed(0);
  console.log(
    `cycle ${cycle}: ${deleted} deleted, ${rate} a second beside ${driven} runs, autovacuum ${waited.toFixed(0)} s later, as many added: ${shown(after)}`,
  );
  keep(`cycle ${cycle}: runs that the purge says it deleted`, deleted, { least: purged, most: purged });
  keep(`cycle ${cycle}: runs that are gone`, gone, { least: purged, most: purged });
  return after;
}

async function purgeAll(full: Side): Promise<void> {
  console.log(`\nbefore the purges: ${shown(await sizes(full))}`);
  let first: Sizes | undefined;
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const after = await purgeCycle(full, cycle);
    first ??= after;
    if (after === first) continue;
    for (const part of ["heap", "indexes", "batches"] as const) {
      const growth = after[part] / after.runs / (first[part] / first.runs);
      keep(`cycle ${cycle}: ${part} for each run, of that after the first cycle`, growth, {
        most: mostGrowth,
      });
    }
  }
  const { rows } = await full.admin.query<{ left: number }>(
    "SELECT count(*)::int AS left FROM durable.batches b WHERE NOT EXISTS (SELECT FROM durable.runs r WHERE r.id = b.run)",
  );
  keep("batches of runs that are gone", rows[0]?.left ?? NaN, { most: 0 });
}

const root = new Client({ connectionString: server.url });
await root.connect();
const sides = [await makeSide("empty", server.url, root), await makeSide("full", server.url, root)] as const;
const [, full] = sides;
try {
  for (const side of sides)
    await withWorker(side, async (app) => {
      await drive(app, 40);
      for (let n = 0; n < 10; n++) await app.start(nap, undefined, { id: `nap-${n}`, drive: false });
      while ((await app.list({ status: "suspended" })).runs.length < 10) await pause(100);
    });
  for (const table of ["runs", "batches"])
    await full.admin.query(`CREATE TABLE public.first_${table} AS SELECT * FROM durable.${table}`);
  await fill(full, "five", ended);
  await fill(full, "nap", waiting);
  await full.admin.query("VACUUM (ANALYZE)");
  await root.query("CHECKPOINT");
  console.log(`${ended} ended and ${waiting} waiting runs: ${shown(await sizes(full))}`);
  if (rounds > 0) await compare(sides);
  if (cycles > 0) await purgeAll(full);
  // Last, because space that it leaves free would hide a growth.
  if (values.migrate) await migrateUnderLoad(full);
  sayBounds();
} finally {
  await Promise.all([root, ...sides.map(({ admin }) => admin)].map((client) => client.end()));
  await server.stop();
}
process.exit();
