/** The SQL of limits: slots, singletons, and the texts of `storage.limits`. Values are bound, never written into the text (H65). */

import type { DatabaseSync } from "node:sqlite";
import { asleepRuns, isAsleep, isDueRow } from "./due-statements.ts";
import { numbered } from "./numbered.ts";

/** The words of the partial indexes: a query that uses one repeats them. */
const holdsSlot = "slot IS NOT NULL AND (owner IS NOT NULL OR claimed_until IS NOT NULL) AND deleted = 0";
const isAlive = "singleton IS NOT NULL AND status IN ('running', 'suspended', 'paused') AND deleted = 0";

export const limitTables = `CREATE TABLE limit_texts (
     name TEXT NOT NULL PRIMARY KEY,
     value TEXT NOT NULL,
     until REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX limit_texts_by_end ON limit_texts (until);
   CREATE INDEX runs_in_slots ON runs (workflow, slot) WHERE ${holdsSlot};
   CREATE INDEX runs_by_singleton ON runs (workflow, singleton) WHERE ${isAlive};
   CREATE INDEX runs_by_slot ON runs (workflow, fair, slot, due_order) WHERE slot IS NOT NULL AND ${isDueRow};`;

export function limiting(database: DatabaseSync) {
  return {
    setFlow: database.prepare(
      "UPDATE runs SET flow = ?, slot = ?, singleton = ?, fair = ? WHERE locator = ?",
    ),
    ownLease: database.prepare("SELECT 1 FROM runs WHERE locator = ? AND owner = ? AND lease_until > ?"),
    claimSlot: database.prepare("UPDATE runs SET claimed_until = ?, process = ? WHERE locator = ?"),
    leaseSlot: database.prepare("UPDATE runs SET claimed_until = NULL WHERE locator = ?"),
    /** Ends the claim of a run and its quiet time, in which other workers leave it out. */
    unclaimSlot: database.prepare(
      "UPDATE runs SET claimed_until = NULL, quiet_until = 0 WHERE locator = ? AND claimed_until IS NOT NULL",
    ),
    singletonOf: database.prepare(
      `SELECT run_id FROM runs INDEXED BY runs_by_singleton WHERE workflow = ? AND singleton = ? AND ${isAlive} LIMIT 1`,
    ),
    inSlot: database.prepare(
      `SELECT process, lease_until, claimed_until FROM runs INDEXED BY runs_in_slots
         WHERE workflow = ? AND slot = ? AND locator <> ? AND ${holdsSlot}`,
    ),
    /** Runs that have a slot, or were claimed for it. */
    heldInSlots: database.prepare(
      `SELECT workflow, slot, process, lease_until, wake_at FROM runs INDEXED BY runs_in_slots WHERE ${holdsSlot}`,
    ),
    /** Runs that are due and have no lease, by slot. */
    dueInSlots: numbered(
      database,
      `SELECT workflow, slot, count(*) AS runs FROM (
         SELECT workflow, slot, lease_until FROM runs INDEXED BY runs_by_slot
           WHERE slot IS NOT NULL AND ${isDueRow} AND wake_at <= ?1
         UNION ALL
         SELECT workflow, slot, lease_until FROM ${asleepRuns} WHERE slot IS NOT NULL AND ${isAsleep} AND wake_at <= ?1
       ) WHERE lease_until IS NULL OR lease_until <= ?1 GROUP BY workflow, slot`,
    ),
    ...texting(database),
  };
}

/** Texts under names. */
function texting(database: DatabaseSync) {
  return {
    text: database.prepare("SELECT value FROM limit_texts WHERE name = ? AND until > ?"),
    keepText: database.prepare(
      `INSERT INTO limit_texts (name, value, until) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until`,
    ),
    dropTexts: database.prepare(
      "DELETE FROM limit_texts WHERE name IN (SELECT name FROM limit_texts WHERE until <= ? LIMIT 8)",
    ),
    texts: numbered(
      database,
      "SELECT name, value FROM limit_texts WHERE until > ?1 AND name >= ?2 AND name < ?2 || char(1114111) ORDER BY name",
    ),
  };
}
