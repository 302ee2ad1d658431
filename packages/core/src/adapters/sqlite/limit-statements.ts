/** The SQL of limits: slots, singletons, and the texts of `storage.limits`. Values are bound, never written into the text (H65). */

import type { DatabaseSync } from "node:sqlite";

/** The words of the partial indexes: a query that uses one repeats them. */
const ofSlot = "slot IS NOT NULL AND wake_at IS NOT NULL AND deleted = 0";
const holdsSlot = "slot IS NOT NULL AND (owner IS NOT NULL OR claimed_until IS NOT NULL) AND deleted = 0";
const isAlive = "singleton IS NOT NULL AND status IN ('running', 'suspended', 'paused') AND deleted = 0";
const bySlot = "runs INDEXED BY runs_by_slot";

/** What files of this build have in addition. See `additions` in schema.ts. */
export const limitTables = `ALTER TABLE runs ADD COLUMN flow TEXT;
   ALTER TABLE runs ADD COLUMN slot TEXT;
   ALTER TABLE runs ADD COLUMN singleton TEXT;
   ALTER TABLE runs ADD COLUMN claimed_until REAL;
   CREATE TABLE limit_texts (
     name TEXT NOT NULL PRIMARY KEY,
     value TEXT NOT NULL,
     until REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX limit_texts_by_end ON limit_texts (until);
   CREATE INDEX runs_in_slots ON runs (workflow, slot) WHERE ${holdsSlot};
   CREATE INDEX runs_by_singleton ON runs (workflow, singleton) WHERE ${isAlive};
   CREATE INDEX runs_by_slot ON runs (workflow, slot, wake_at) WHERE ${ofSlot};`;

export function limiting(database: DatabaseSync) {
  return {
    setFlow: database.prepare("UPDATE runs SET flow = ?, slot = ?, singleton = ? WHERE locator = ?"),
    ownLease: database.prepare("SELECT 1 FROM runs WHERE locator = ? AND owner = ? AND lease_until > ?"),
    claimSlot: database.prepare("UPDATE runs SET claimed_until = ?, process = ? WHERE locator = ?"),
    leaseSlot: database.prepare("UPDATE runs SET claimed_until = NULL WHERE locator = ?"),
    /** The claim of a run is over, and with it the time for which others leave it out. */
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
    /** Skips from one slot to the next, so that the cost is that of the slots, and not of the runs that wait. */
    slotsOf: database.prepare(
      `WITH RECURSIVE found (slot) AS (
         SELECT min(slot) FROM ${bySlot} WHERE workflow = ?1 AND ${ofSlot}
         UNION ALL
         SELECT (SELECT min(slot) FROM ${bySlot} WHERE workflow = ?1 AND slot > found.slot AND ${ofSlot})
           FROM found WHERE found.slot IS NOT NULL
       ) SELECT slot FROM found WHERE slot IS NOT NULL`,
    ),
    dueOfSlot: database.prepare(
      `SELECT * FROM ${bySlot} WHERE workflow = ?1 AND slot = ?2 AND wake_at <= ?3 AND ${ofSlot}
         AND (quiet_until <= ?4 AND (lease_until IS NULL OR lease_until <= ?4) OR process IN (SELECT value FROM json_each(?5)))
         AND (?6 IS NULL OR version IN (SELECT value FROM json_each(?6)))
         ORDER BY wake_at, id LIMIT ?7`,
    ),
    dueWithoutSlot: database.prepare(
      `SELECT * FROM runs WHERE id IN (
           SELECT id FROM runs INDEXED BY runs_due_by_workflow WHERE workflow = ?1 AND wake_at <= ?2 AND wake_at IS NOT NULL
             AND deleted = 0 ORDER BY wake_at, id LIMIT ?6)
         AND slot IS NULL
         AND (quiet_until <= ?3 AND (lease_until IS NULL OR lease_until <= ?3) OR process IN (SELECT value FROM json_each(?4)))
         AND (?5 IS NULL OR version IN (SELECT value FROM json_each(?5)))
         ORDER BY wake_at, id LIMIT ?7`,
    ),
    workflowsWithSlots: database.prepare(
      `WITH RECURSIVE found (workflow) AS (
         SELECT min(workflow) FROM ${bySlot} WHERE ${ofSlot}
         UNION ALL
         SELECT (SELECT min(workflow) FROM ${bySlot} WHERE workflow > found.workflow AND ${ofSlot})
           FROM found WHERE found.workflow IS NOT NULL
       ) SELECT workflow FROM found WHERE workflow IS NOT NULL`,
    ),
    waitingOfSlot: database.prepare(
      `SELECT count(*) AS runs FROM ${bySlot} WHERE workflow = ? AND slot = ? AND wake_at <= ? AND ${ofSlot}`,
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
    texts: database.prepare(
      "SELECT name, value FROM limit_texts WHERE until > ?1 AND name >= ?2 AND name < ?2 || char(1114111) ORDER BY name",
    ),
  };
}
