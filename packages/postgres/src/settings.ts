/** The options of the storage, checked and with everything filled in. */

import { DurableError } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";
import { escapeIdentifier, Pool, type PoolConfig } from "pg";
import { serverLimitOf } from "./connections.ts";
import type { MigrateOptions, PostgresOptions } from "./options.ts";

/** Options with everything filled in. */
export interface Settings {
  readonly pool: Pool;
  readonly ownsPool: boolean;
  /** The name of the schema, and the same as a quoted identifier. */
  readonly schema: string;
  readonly quoted: string;
  /** The channel of notifications. */
  readonly channel: string;
  /** The database and the schema, without user and password, for messages. */
  readonly place: string;
  /** How long a statement may take. */
  readonly timeoutMs: number;
  /** How often to ask without a sign, while notifications arrive. */
  readonly pollMs: number;
  /** The same while they do not arrive. */
  readonly blindPollMs: number;
  readonly migrate: boolean;
  readonly listen: boolean;
  readonly prepare: boolean;
  readonly now: (() => number) | null;
}

export function settingsOf(given: string | PostgresOptions): Settings {
  const options: PostgresOptions = typeof given === "string" ? { url: given } : given;
  check(options);
  const schema = options.schema ?? "durable";
  const pollMs = toMs(options.poll ?? "5s", "poll of PostgresStorage");
  const pool = (options.pool as Pool | undefined) ?? openPool(options);
  return {
    pool,
    ownsPool: options.pool === undefined,
    schema,
    quoted: escapeIdentifier(schema),
    channel: `${schema}:runs`,
    place: placeOf(pool, schema),
    timeoutMs: timeoutOf(options),
    pollMs,
    blindPollMs: options.listen === false && options.poll !== undefined ? pollMs : 500,
    migrate: options.migrate ?? true,
    listen: options.listen ?? true,
    prepare: options.prepare ?? true,
    now: options.now ?? null,
  };
}

function refuse(why: string, what = "PostgresStorage"): never {
  throw new DurableError("invalid-options", `${what} ${why}.`);
}

function check(options: PostgresOptions): void {
  assertOptions(
    options,
    "url pool schema connections timeout poll migrate listen prepare now",
    "PostgresStorage",
  );
  const { url, pool, schema = "durable", connections = 10 } = options;
  if ((url === undefined) === (pool === undefined)) refuse("needs either `url` or `pool`");
  if (url !== undefined && !/^postgres(?:ql)?:\/\//.test(url))
    refuse("needs a `url` that begins with postgres://");
  // Postgres cuts longer names without a word, and the channel of notifications is made from this one.
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(schema))
    refuse(`got the schema ${JSON.stringify(schema)}. Use at most 40 letters, digits and underscores`);
  if (!Number.isInteger(connections) || connections < 1) refuse("needs at least 1 connection");
  if (timeoutOf(options) < 1) refuse("needs a `timeout` of at least 1 ms");
}

function timeoutOf({ timeout = "15s" }: PostgresOptions): number {
  return toMs(timeout, "timeout of PostgresStorage");
}

/** The roles that a migration grants rights to. */
export function rolesOf(options: MigrateOptions): readonly string[] {
  const what = "PostgresStorage.migrate";
  const unknown = Object.keys(options).find((name) => name !== "grantTo" && name !== "dryRun");
  if (unknown !== undefined)
    refuse(`has no option ${JSON.stringify(unknown)}. Its options are grantTo and dryRun`, what);
  const roles = [options.grantTo ?? []].flat();
  for (const role of roles)
    if (typeof role !== "string" || role === "")
      refuse(`got the role ${JSON.stringify(role)} in grantTo. Use the name of a role`, what);
  return roles;
}

/** A pool that gives up a connection that does not answer, and does not keep the process alive when it is idle. */
function openPool(options: PostgresOptions): Pool {
  const { url, connections = 10 } = options;
  const timeoutMs = timeoutOf(options);
  const config: PoolConfig = {
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: serverLimitOf(timeoutMs),
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: "durable",
    allowExitOnIdle: true,
  };
  const pool = new Pool(config);
  // An idle connection that breaks is replaced; without a listener, it would end the process.
  pool.on("error", () => {});
  return pool;
}

/** The text of a pool's configuration that may be shown: never the password. */
function placeOf({ options }: Pool, schema: string): string {
  const { connectionString, host = "localhost", database = "" } = options as PoolConfig;
  let where = `${host}/${database}`;
  try {
    const { host: named, pathname } = new URL(connectionString ?? "");
    where = `${named || host}${pathname}`;
  } catch {
    // No address, or one that only pg understands.
  }
  return `the Postgres database ${where}, schema ${schema}`;
}
