/**
 * The rights of the role of an application, by table: what the storage does, and nothing else. Recorded batches and blobs
 * cannot be changed, and neither can the version of the tables. Proven in test/roles.test.ts, which compares this list with
 * the tables of a fresh schema.
 */

import { escapeIdentifier } from "pg";

const rights: Readonly<Record<string, string>> = {
  durable_version: "SELECT",
  runs: "SELECT, INSERT, UPDATE, DELETE",
  batches: "SELECT, INSERT, DELETE",
  chapters: "SELECT, INSERT, DELETE",
  readers: "SELECT, INSERT, DELETE",
  // A lock of a row needs a right to update one of its columns.
  blobs: "SELECT, INSERT, DELETE, UPDATE (name)",
  named: "SELECT, INSERT, DELETE",
  tags: "SELECT, INSERT, DELETE",
  spent: "SELECT, INSERT, UPDATE",
  turns: "SELECT, INSERT, UPDATE",
  schedules: "SELECT, INSERT, UPDATE, DELETE",
  paused: "SELECT, INSERT, UPDATE, DELETE",
  limit_texts: "SELECT, INSERT, UPDATE, DELETE",
  locks: "SELECT, INSERT, UPDATE",
};

export const grantedTables: readonly string[] = Object.keys(rights);

/** Lets a role use the tables and functions of a schema. It can be repeated. */
export function grants(schema: string, role: string): string {
  const to = escapeIdentifier(role);
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${to};`,
    ...Object.entries(rights).map(([table, may]) => `GRANT ${may} ON ${schema}.${table} TO ${to};`),
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${to};`,
  ].join("\n");
}
