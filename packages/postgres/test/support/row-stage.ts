/** Tables of Postgres that are edited behind the back of the storage, by their owner. */

import { Pool } from "pg";
import type { Random } from "@durable/testing";
import {
  changedCell,
  ownedKeys,
  pickColumn,
  type Cell,
  type Stage,
} from "../../../core/test/journal/support/row-edits.ts";
import { PostgresStorage } from "../../src/index.ts";

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

export function postgresStage(url: string, schema: string): Stage {
  const pool = new Pool({ connectionString: url, max: 6, allowExitOnIdle: true });
  pool.on("error", () => {});
  const kept = `${schema}_kept`;
  let columns: readonly Column[] = [];
  return {
    keep: async () => {
      const { rows } = await pool.query<Column>(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, ordinal_position",
        [schema],
      );
      columns = rows;
      const copies = tablesOf(rows).map(
        (table) => `CREATE TABLE ${kept}.${table} AS TABLE ${schema}.${table}`,
      );
      await pool.query([`CREATE SCHEMA ${kept}`, ...copies].join("; "));
    },
    edit: async (random) => {
      const tables = tablesOf(columns);
      await pool.query(
        [
          "SET LOCAL synchronous_commit = off",
          // Triggers are not for a copy.
          "SET LOCAL session_replication_role = replica",
          ...tables.map((table) => `DELETE FROM ${schema}.${table}`),
          ...tables.map(
            (table) =>
              `INSERT INTO ${schema}.${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${kept}.${table}`,
          ),
          ...(random.chance(0.6) ? dueNow(schema) : []),
        ].join("; "),
      );
      const edits: string[] = [];
      for (let left = random.between(1, 2); left > 0; left--)
        edits.push(await editCell(pool, schema, { random, columns }));
      return edits.join(" and ");
    },
    open: () => new PostgresStorage({ pool, schema }),
    end: async () => {
      await pool.query(`DROP SCHEMA IF EXISTS ${kept} CASCADE; DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await pool.end();
    },
  };
}

function tablesOf(columns: readonly Column[]): string[] {
  return [...new Set(columns.map(({ table_name: name }) => name))];
}

function dueNow(schema: string): string[] {
  return [
    `UPDATE ${schema}.schedules SET due_at = 0`,
    `UPDATE ${schema}.runs SET wake_at = 0, due_order = 0, asleep = false`,
  ];
}

async function editCell(
  pool: Pool,
  schema: string,
  { random, columns }: { readonly random: Random; readonly columns: readonly Column[] },
): Promise<string> {
  const filled: string[] = [];
  for (const table of tablesOf(columns)) {
    // The journals have an attack of their own.
    const { rows } = await pool.query(`SELECT 1 FROM ${schema}.${table} LIMIT 1`);
    if (rows.length > 0 && !/batch|blob/.test(table)) filled.push(table);
  }
  const table = random.pick(filled);
  const own = columns.filter(({ table_name: name }) => name === table);
  const { column_name: column, data_type: type } = pickColumn(random, own, (one) => one.column_name);
  const { rows } = await pool.query<{ readonly place: string; readonly value: Cell }>(
    `SELECT ctid::text AS place, "${column}" AS value FROM ${schema}.${table} ORDER BY 2, 1`,
  );
  const { place, value } = random.pick(rows);
  const others = rows.map((row) => row.value);
  const isYes = random.chance(0.5);
  const isKey = column === "singleton";
  const next = isKey
    ? random.pick(ownedKeys)
    : type === "boolean"
      ? isYes
      : changedCell(random, value, others);
  // A key has one owner.
  const freed = `CASE WHEN ctid = '${place}' THEN ${literal(next)} END`;
  const [set, rest] = isKey ? [freed, `OR singleton = ${literal(next)}`] : [literal(next), ""];
  try {
    await pool.query(
      `SET LOCAL synchronous_commit = off; UPDATE ${schema}.${table} SET "${column}" = ${set} WHERE ctid = '${place}' ${rest}`,
    );
    return `${table}.${column} = ${String(next).slice(0, 80)}`;
  } catch {
    return `${table}.${column} keeps its value`;
  }
}

function literal(value: Cell): string {
  return value === null ? "NULL" : `'${String(value).replaceAll("'", "''")}'`;
}
