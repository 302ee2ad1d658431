/**
 * The schema of the database, and its migrations.
 *
 * migrate.1. One process migrates at a time: all steps run in one transaction, which first locks the row of the version and
 *     reads it again. Where there is none yet, the one that makes the tables goes first and the others begin anew. Any number
 *     of first boots is safe. No lock is of a kind that a role without rights can hold.
 * migrate.2. The version changes in the same transaction, so a process that is killed half-way leaves nothing behind.
 * migrate.3. A schema of a newer version of the library, of one before the first release, or of another program is refused
 *     and not changed.
 * migrate.2b. An online step (online.ts) is for tables in use: it takes its locks for a moment, goes on where it was
 *     interrupted, and records its version when all of it is done.
 * migrate.4. A step never changes a function that a released version calls: it adds one with another number.
 * migrate.5. Rights are granted in the same transaction, also when there is no step left, so that no table lacks them.
 */

import { DurableError } from "@durable/core";
import { otherFormat } from "@durable/core/storage";
import type { PoolClient, QueryResult, QueryResultRow } from "pg";
import { Connections } from "./connections.ts";
import { named, stateOf } from "./errors.ts";
import type { Settings } from "./settings.ts";
import { appendFunctions } from "./sql/append.ts";
import { deleteFunctions } from "./sql/delete.ts";
import { leaseFunctions } from "./sql/lease.ts";
import { limitFunctions } from "./sql/limits.ts";
import { grants } from "./sql/grants.ts";
import { alone, doOnline, type OnlineStep, type Patience } from "./online.ts";
import { readFunctions } from "./sql/read.ts";
import { purgeFunctions } from "./sql/retention.ts";
import { spentSums } from "./sql/spent.ts";
import { schedules } from "./sql/schedules.ts";
import { tables } from "./sql/tables.ts";
import { tagFunctions } from "./sql/tags.ts";
import type { Migration } from "./options.ts";

/** A step in one transaction, or one for tables that are in use. */
export type Step = ((schema: string) => string) | OnlineStep;
type Text = (schema: string) => string;

/** The version that the first step makes. Those before it were never released. */
const firstVersion = 8;

const parts: readonly Text[] = [
  tables,
  tagFunctions,
  appendFunctions,
  readFunctions,
  leaseFunctions,
  spentSums,
  deleteFunctions,
  purgeFunctions,
  limitFunctions,
  schedules,
];

/** The first step makes everything, and each further one brings the version before it up to date. Released steps never change. */
export const steps: readonly Step[] = [(schema) => parts.map((text) => text(schema)).join("")];

/** The version of a schema that has all steps. */
export const versionOf = (all: readonly Step[]): number => firstVersion - 1 + all.length;

type Place = Pick<Settings, "pool" | "schema" | "quoted" | "place" | "migrate" | "timeoutMs"> & {
  /** Of online steps; for tests. */
  readonly patience?: Patience;
};

/** Sends a statement: on any connection and with a time limit, or on that of the migration. */
type Ask = <Row extends QueryResultRow>(text: string, values?: unknown[]) => Promise<QueryResult<Row>>;

/** Brings the schema to the newest version; does nothing when it has it. Returns what it saw of the role. */
export async function migrate(
  place: Place,
  all: readonly Step[] = steps,
  grantTo: readonly string[] = [],
): Promise<{ readonly isAsync: boolean }> {
  const connections = new Connections(place);
  const { version, isAsync } = await stateOfSchema(
    (text, values) => connections.query({ text, ...(values && { values }) }),
    place,
    all,
  ).finally(() => connections.close());
  if (version === versionOf(all) && grantTo.length === 0) return { isAsync };
  if (!place.migrate)
    throw new DurableError(
      "storage-failed",
      `The tables in ${place.place} are missing or of an older version. Run PostgresStorage.migrate with the role that owns them.`,
    );
  for (let tries = 1; ; tries++) {
    try {
      await migrateOnce(place, all, grantTo);
      break;
    } catch (error) {
      if (!wasMade(error) || tries >= migrateTries) throw named(error, place.place);
    }
  }
  return { isAsync };
}

/** Reads what there is to do, and changes nothing. */
export async function planMigration(
  place: Place,
  all: readonly Step[] = steps,
  grantTo: readonly string[] = [],
): Promise<Migration> {
  const connections = new Connections(place);
  const ask: Ask = (text, values) => connections.query({ text, ...(values && { values }) });
  const { version } = await stateOfSchema(ask, place, all).finally(() => connections.close());
  const { quoted } = place;
  const statements = [
    ...(version === 0 ? [`CREATE SCHEMA IF NOT EXISTS ${quoted};`] : []),
    ...all.slice(stepsDone(version)).flatMap((step) => textsOf(step, quoted)),
    ...grantTo.map((role) => grants(quoted, role)),
  ];
  return { from: version, to: versionOf(all), statements };
}

function textsOf(step: Step, schema: string): string[] {
  if (typeof step === "function") return [step(schema)];
  const { change, fill, indexes = {} } = step;
  const built = Object.entries(indexes).map(
    ([name, text]) => `CREATE INDEX CONCURRENTLY ${name} ${text(schema)};`,
  );
  return [change(schema), ...(fill === undefined ? [] : [fill(schema)]), ...built];
}

/** How many steps tables of a version have behind them. */
function stepsDone(version: number): number {
  return Math.max(0, version - firstVersion + 1);
}

/** More than once means that the tables were removed again in between. */
const migrateTries = 5;

/** True when another process has made the schema or a table first. */
function wasMade(error: unknown): boolean {
  return ["42P06", "42P07", "23505"].includes(stateOf(error) ?? "");
}

async function migrateOnce(place: Place, all: readonly Step[], grantTo: readonly string[]): Promise<void> {
  const client = await place.pool.connect();
  let broken: Error | undefined;
  client.on("error", ignore);
  try {
    await migrateWith(client, place, all, grantTo);
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // After an error the connection is closed, which also ends the transaction.
    client.release(broken);
    client.removeListener("error", ignore);
  }
}

/** A connection that breaks rejects the statement under way. Without a listener it would also end the process. */
function ignore(): void {}

async function migrateWith(
  client: PoolClient,
  place: Place,
  all: readonly Step[],
  grantTo: readonly string[],
): Promise<void> {
  const { schema, quoted } = place;
  const ask: Ask = (text, values) => client.query(text, values);
  const before = (await stateOfSchema(ask, place, all)).version;
  const online = before > 0 && all.slice(stepsDone(before)).some((step) => typeof step !== "function");
  if (online) return migrateOnline(client, place, all, grantTo);
  await client.query("BEGIN");
  // Steps on large tables take their time, and locks are waited for below.
  await client.query("SET LOCAL statement_timeout = 0");
  let { version } = await stateOfSchema(ask, place, all);
  if (version > 0) {
    await client.query(`SELECT FROM ${quoted}.durable_version FOR UPDATE`);
    ({ version } = await stateOfSchema(ask, place, all));
  }
  if (version === 0) {
    const { rows } = await client.query<{ present: boolean; other: boolean; encoding: string }>(
      `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS present, ${hasTable("$1", "runs")} AS other,
         current_setting('server_encoding') AS encoding`,
      [schema],
    );
    if (rows[0]?.encoding !== "UTF8")
      throw new DurableError(
        "storage-failed",
        `The encoding of ${place.place} is ${rows[0]?.encoding}. Journals need a database with the encoding UTF8.`,
      );
    if (rows[0].other)
      throw new DurableError(
        "storage-failed",
        `${place.place} belongs to another program. Choose another schema.`,
      );
    if (!rows[0].present) await client.query(`CREATE SCHEMA ${quoted}`);
    await client.query(`CREATE TABLE ${quoted}.durable_version (version int NOT NULL)`);
    await client.query(`INSERT INTO ${quoted}.durable_version VALUES (0)`);
  }
  for (const step of all.slice(stepsDone(version)))
    for (const text of textsOf(step, quoted)) await client.query(offline(text));
  await client.query(`UPDATE ${quoted}.durable_version SET version = ${versionOf(all)}`);
  for (const role of grantTo) await client.query(grants(quoted, role));
  await client.query("COMMIT");
}

/** Tables that were made in the same transaction are used by no one. */
function offline(text: string): string {
  return text.replace("CREATE INDEX CONCURRENTLY", "CREATE INDEX").replaceAll("$1", String(2 ** 30));
}

/** Each step on its own, and its version when it is done; nothing of it is in one transaction. */
async function migrateOnline(
  client: PoolClient,
  place: Place,
  all: readonly Step[],
  grantTo: readonly string[],
): Promise<void> {
  const { quoted } = place;
  await alone(place, async (holder) => {
    const ask: Ask = (text, values) => holder.query(text, values);
    const { version } = await stateOfSchema(ask, place, all);
    for (const step of all.slice(stepsDone(version))) {
      if (typeof step === "function") await holder.query(step(quoted));
      else await doOnline(client, place, step, place.patience);
    }
    for (const role of grantTo) await client.query(grants(quoted, role));
    await holder.query(`UPDATE ${quoted}.durable_version SET version = ${versionOf(all)}`);
  });
}

/** Read from the tables of the catalog, because a session may still remember results that it got in other ways before. */
const hasTable = (schema: string, table: string): string =>
  `EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ${schema} AND c.relname = '${table}')`;

/** The version of the schema; 0 when there is none. Refuses one that is newer than this build, or not ours. */
async function stateOfSchema(
  ask: Ask,
  { schema, quoted, place }: Place,
  all: readonly Step[],
): Promise<{ readonly version: number; readonly isAsync: boolean }> {
  const { rows } = await ask<{ mine: boolean; replica: boolean; isolation: string; async: boolean }>(
    `SELECT pg_is_in_recovery() AS replica, ${hasTable("$1", "durable_version")} AS mine, current_setting('default_transaction_isolation') AS isolation,
         current_setting('synchronous_commit') = 'off' AS async`,
    [schema],
  ).catch((error: unknown) => {
    throw named(error, place);
  });
  const { mine, replica, isolation, async: isAsync = true } = rows[0] ?? {};
  if (replica === true)
    throw new DurableError(
      "storage-readonly",
      `${place} is a replica, which lags behind and takes no writes. Use the address of the primary server.`,
    );
  if (isolation !== "read committed")
    throw new DurableError(
      "storage-failed",
      `The default transaction isolation of ${place} is "${isolation}". Set it to "read committed" for the role of this storage: ALTER ROLE ... SET default_transaction_isolation = 'read committed'.`,
    );
  if (mine !== true) return { version: 0, isAsync };
  const version = await ask<{ version: number }>(`SELECT version FROM ${quoted}.durable_version`)
    .then((reply) => reply.rows[0]?.version ?? 0)
    .catch((error: unknown) => {
      throw stateOf(error) === "42P01" ? error : named(error, place);
    });
  if (version > versionOf(all) || version < firstVersion)
    throw otherFormat(`The tables in ${place} have version`, version, {
      reads: versionOf(all),
      instead: "Finish their runs with that version, or use another schema.",
      upgrade: "@durable/postgres",
    });
  return { version, isAsync };
}
