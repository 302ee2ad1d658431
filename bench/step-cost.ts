/**
 * Processor time of one step on SQLite, against a bare loop that writes the very same rows with the same
 * statements and one commit each. Both on a tmpfs where there is one, so that the disk has no say.
 * The two are interleaved and the best of several rounds is taken. What is not measured: the body, the disk.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

const steps = 5_000;
const rounds = 7;
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "durable-bench-"));

/** Microseconds of processor time per step. */
async function measured(work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / steps;
}

async function engine(round: number): Promise<{ cost: number; path: string }> {
  const path = join(folder, `engine-${round}.db`);
  const storage = new SqliteStorage(path);
  const flow = durable(
    "bench",
    async (ctx) => {
      for (let i = 0; i < steps; i++) await ctx.step("step", async () => i);
    },
    { storage },
  );
  const cost = await measured(async () => void (await flow.run(undefined, { id: `run-${round}` })));
  await storage.close();
  return { cost, path };
}

/** Reads the rows the engine wrote, then writes them again: one update of the head, one insert, one commit. */
async function bare(source: string, round: number): Promise<number> {
  const from = new DatabaseSync(source);
  const rows = from.prepare("SELECT locator, position, body FROM batches ORDER BY position").all() as {
    locator: string;
    position: number;
    body: string;
  }[];
  const schema = from
    .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all();
  const head = from.prepare("SELECT * FROM runs").get() as Record<string, string | number | null>;
  from.close();
  const to = new DatabaseSync(join(folder, `bare-${round}.db`));
  to.exec("PRAGMA journal_mode = wal; PRAGMA synchronous = FULL");
  for (const { sql } of schema as { sql: string }[]) to.exec(sql);
  const columns = Object.keys(head);
  const marks = columns.map(() => "?").join(", ");
  to.prepare(`INSERT INTO runs (${columns.join(", ")}) VALUES (${marks})`).run(...Object.values(head));
  const insert = to.prepare("INSERT INTO batches (locator, position, body) VALUES (?, ?, ?)");
  const update = to.prepare(
    "UPDATE runs SET steps = ?, length = ?, updated_at = ?, lease_until = ? WHERE locator = ?",
  );
  const cost = await measured(() => {
    for (const { locator, position, body } of rows) {
      to.exec("BEGIN IMMEDIATE");
      update.run(position, position, Date.now(), Date.now(), locator);
      insert.run(locator, position, body);
      to.exec("COMMIT");
    }
  });
  to.close();
  return cost;
}

const costs: { engine: number; bare: number }[] = [];
for (let round = 0; round < rounds; round++) {
  const { cost, path } = await engine(round);
  costs.push({ engine: cost, bare: await bare(path, round) });
}
rmSync(folder, { recursive: true, force: true });

const best = (pick: (cost: { engine: number; bare: number }) => number): number =>
  Math.min(...costs.map(pick));
const [durableCost, bareCost] = [best((c) => c.engine), best((c) => c.bare)];
console.log(
  `step-cost: durable ${durableCost.toFixed(1)} us  bare insert ${bareCost.toFixed(1)} us  ratio ${(durableCost / bareCost).toFixed(2)}  (processor time per step, best of ${rounds} rounds of ${steps} steps)`,
);
