/** Storages on the shared server, each in a schema of its own. */

import { Pool, type QueryResultRow } from "pg";
import { inject } from "vitest";
import { PostgresStorage, type PostgresOptions } from "../../src/index.ts";

let schemas = 0;
/** Schemas that are empty again, by server: emptying one is quicker than making one. */
const empty = new Map<string, string[]>();
/** One pool for all tests of a file: a new connection costs more than most tests. */
const pools = new Map<string, Pool>();
const tables = [
  "runs",
  "batches",
  "chapters",
  "readers",
  "blobs",
  "named",
  "limit_texts",
  "paused",
  "schedules",
  "tags",
  "turns",
];

function emptyOf(url: string): string[] {
  const schemas = empty.get(url) ?? [];
  empty.set(url, schemas);
  return schemas;
}

/** The pool of a server, which stays open until the process ends. */
export function sharedPool(url: string): Pool {
  const pool = pools.get(url) ?? new Pool({ connectionString: url, max: 12, allowExitOnIdle: true });
  if (!pools.has(url)) pool.on("error", () => {});
  pools.set(url, pool);
  return pool;
}

/** A schema name that no other test has. */
export function freshSchema(): string {
  return `t_${process.pid}_${Date.now().toString(36)}_${++schemas}`;
}

export interface Opened {
  readonly schema: string;
  /** A handle on the same data, as another process would have. */
  readonly open: (options?: Omit<PostgresOptions, "url" | "schema">) => PostgresStorage;
  /** Runs a statement as the owner; `S.` in it is the schema. */
  readonly sql: <Row extends QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Closes all handles, and removes the data. */
  readonly close: () => Promise<void>;
}

/** An empty schema with any number of handles, one of `free` if there are some. */
export function openSchema(url: string = inject("postgres"), free = emptyOf(url)): Opened {
  const schema = free.pop() ?? freshSchema();
  const handles: PostgresStorage[] = [];
  const owner = sharedPool(url);
  const sql: Opened["sql"] = async (text, values = []) =>
    (await owner.query(text.replaceAll("S.", `${schema}.`), values)).rows;
  return {
    schema,
    open: (options = {}) => {
      const storage = new PostgresStorage({ pool: owner, schema, ...options });
      handles.push(storage);
      return storage;
    },
    sql,
    close: async () => {
      await Promise.all(handles.map((handle) => handle.close()));
      await owner.query(
        `SET LOCAL synchronous_commit = off; ${tables.map((table) => `DELETE FROM ${schema}.${table}`).join("; ")}`,
      );
      free.push(schema);
    },
  };
}
