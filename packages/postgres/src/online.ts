/**
 * A change of tables that are in use: no statement waits for it for long, and it goes on where it was interrupted.
 *
 * online.1. Everything that a step does can be done again. Its version is recorded last, so a migration that was killed begins
 *     with the same step, and finds most of it done.
 * online.2. A lock of a table is waited for a short time only, because every append queues behind that wait. Then it is given up
 *     and asked for again, while a backup or a long query has the table.
 * online.3. Rows are filled a few at a time, and indexes are built CONCURRENTLY. An index that was left half-built is dropped first.
 * online.4. A process that migrates has the row of the version locked, on a connection of its own, for as long as it takes.
 */

import { Client, escapeIdentifier, type PoolClient } from "pg";
import { DurableError } from "@durable/core";
import { configOf } from "./connections.ts";
import { stateOf } from "./errors.ts";
import type { Settings } from "./settings.ts";

/** A step for tables that are in use. */
export interface OnlineStep {
  /** Statements that change tables and functions, and hold their locks for a moment: `ADD COLUMN IF NOT EXISTS`, `CREATE OR REPLACE`. */
  readonly change: (schema: string) => string;
  /** Indexes by name, each as what follows `CREATE INDEX CONCURRENTLY name`. */
  readonly indexes?: Readonly<Record<string, (schema: string) => string>>;
  /**
   * Fills the next `$2` rows behind the key `$1`, and returns the key of the last one as `last`, or null behind all rows. The
   * first key is an empty text. Runs are walked and locked by their locator, as appends lock them, so that neither waits for
   * the other in a circle. Each place is passed once: a row that an older process inserts behind it has what `change` gives it.
   */
  readonly fill?: (schema: string) => string;
}

/** How patient a migration is. */
export interface Patience {
  /** How long a lock of a table is waited for. */
  readonly lockMs: number;
  /** How often. */
  readonly tries: number;
  /** Rows that are filled at a time. */
  readonly rows: number;
}

export const patience: Patience = { lockMs: 2_000, tries: 60, rows: 1_000 };

type Place = Pick<Settings, "pool" | "schema" | "quoted" | "place">;

/** Runs while no other process migrates; `work` gets the connection on which the version is locked. */
export async function alone<T>(place: Place, work: (holder: Client) => Promise<T>): Promise<T> {
  const holder = new Client({ ...configOf(place.pool.options), statement_timeout: 0, query_timeout: 0 });
  holder.on("error", () => {});
  await holder.connect();
  try {
    await holder.query("BEGIN");
    await holder.query("SET LOCAL idle_in_transaction_session_timeout = 0");
    // Not by waiting: one who waits keeps an old view of all tables, and an index is not ready while there is one.
    const lock = `SELECT FROM ${place.quoted}.durable_version FOR UPDATE SKIP LOCKED`;
    while ((await holder.query(lock)).rowCount === 0)
      await new Promise((resolve) => setTimeout(resolve, 200));
    const done = await work(holder);
    await holder.query("COMMIT");
    return done;
  } finally {
    await holder.end().catch(() => {});
  }
}

/** Does a step, all but recording its version. */
export async function doOnline(
  client: PoolClient,
  place: Place,
  { change, indexes = {}, fill }: OnlineStep,
  { lockMs, tries, rows }: Patience = patience,
): Promise<void> {
  const { quoted: schema } = place;
  await client.query("SET statement_timeout = 0");
  await client.query(`SET lock_timeout = ${lockMs}`);
  try {
    await untilLocked(place, tries, () => client.query(change(schema)));
    if (fill !== undefined) await fillAll(client, fill(schema), rows);
    // These waits stop nobody.
    await client.query("SET lock_timeout = 0");
    for (const [name, text] of Object.entries(indexes)) await build(client, place, name, text(schema));
  } finally {
    await client.query("RESET lock_timeout; RESET statement_timeout").catch(() => {});
  }
}

async function fillAll(client: PoolClient, text: string, rows: number): Promise<void> {
  for (let key: string | null | undefined = ""; typeof key === "string";)
    key = (await client.query<{ last: string | null }>(text, [key, rows])).rows[0]?.last;
}

async function build(client: PoolClient, place: Place, name: string, text: string): Promise<void> {
  const { schema, quoted } = place;
  const found = `SELECT i.indisvalid AS valid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_index i ON i.indexrelid = c.oid WHERE n.nspname = $1 AND c.relname = $2`;
  const [left] = (await client.query<{ valid: boolean }>(found, [schema, name])).rows;
  if (left?.valid === true) return;
  const named = escapeIdentifier(name);
  if (left !== undefined) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${quoted}.${named}`);
  await client.query(`CREATE INDEX CONCURRENTLY ${named} ${text}`);
}

/** Asks again while a lock is not to be had; what was waited for is let go in between. */
async function untilLocked(place: Place, tries: number, work: () => Promise<unknown>): Promise<void> {
  for (let n = 1; ; n++) {
    try {
      await work();
      return;
    } catch (error) {
      if (stateOf(error) !== "55P03") throw error;
      if (n >= tries)
        throw new DurableError(
          "storage-busy",
          `The tables in ${place.place} were locked for each of ${tries} tries, as by a backup or a long query. Migrate again when that has ended: what is done stays done.`,
          { cause: error },
        );
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000));
    }
  }
}
