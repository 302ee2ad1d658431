/** The SQL of due runs: their order, and who drives them. Values are bound, never written into the text (H65). */

import type { DatabaseSync } from "node:sqlite";
import { numbered } from "./numbered.ts";

/** The words of the partial indexes: a query that uses one repeats them. */
export const isDueRow = "asleep = 0 AND wake_at IS NOT NULL AND deleted = 0";
export const isAsleep = "asleep = 1 AND wake_at IS NOT NULL AND deleted = 0";
const isDriven = "process IS NOT NULL AND wake_at IS NOT NULL AND deleted = 0";

/** Due runs of a workflow and a key of `fair`, in their order. */
export const dueRunsOf = "runs INDEXED BY runs_due_in_order";
/** Due runs of a workflow and a version, in their order. */
export const dueRunsOfVersion = "runs INDEXED BY runs_due_by_version";
/** Runs of a workflow that wait for a time, those of the earliest time first. */
export const asleepRuns = "runs INDEXED BY runs_asleep";
const drivenRuns = "runs INDEXED BY runs_driven";
/** Runs that have ended, in the order in which they ended. */
export const endedRuns = "runs INDEXED BY runs_ended";

/**
 * - `due_order` is when a run became due, or will, less its priority. Due runs are taken in this order.
 * - A run that waits for a time is `asleep` until a claim finds that the time has come. So runs that wait cost a claim
 *   nothing, however many there are and whatever their priority is.
 */
export const dueIndexes = `CREATE INDEX runs_due_in_order ON runs (workflow, fair, due_order) WHERE ${isDueRow};
   CREATE INDEX runs_due_by_version ON runs (workflow, version, due_order) WHERE version IS NOT NULL AND ${isDueRow};
   CREATE INDEX runs_asleep ON runs (workflow, wake_at) WHERE ${isAsleep};
   CREATE INDEX runs_asleep_by_version ON runs (workflow, version, wake_at) WHERE version IS NOT NULL AND ${isAsleep};
   CREATE INDEX runs_driven ON runs (workflow, process) WHERE ${isDriven};`;

/** A run that nobody drives or has claimed. A driver that died may have claimed it before: its quiet time ends with it. */
const isFree = (now: string, dead: string): string =>
  `(quiet_until <= ${now} AND (lease_until IS NULL OR lease_until <= ${now}) OR process IN (SELECT value FROM json_each(${dead})))`;

/** Parameters: workflow, key of `fair`, time by which it is due, now, dead processes, versions. */
const wanted = `wake_at <= ?3 AND ${isDueRow} AND ${isFree("?4", "?5")}
         AND (?6 IS NULL OR version IN (SELECT value FROM json_each(?6)))`;
const bySlot = `runs INDEXED BY runs_by_slot WHERE workflow = ?1 AND fair = ?2 AND slot IS NOT NULL`;

/** In the text of marks, quotes of values are escaped, so that no value looks like this. */
const mark = `CASE WHEN instr(marks, '"mark":"waiting"') THEN 'waiting' WHEN instr(marks, '"mark":"failing"') THEN 'failing'
    WHEN instr(marks, '"mark":"cancelling"') THEN 'cancelling' END`;

/** Each status on its own, because each is a part of an index. */
const openRuns = ["running", "suspended", "paused"]
  .map((status) => `SELECT * FROM runs INDEXED BY runs_by_status WHERE status = '${status}' AND deleted = 0`)
  .join(" UNION ALL ");

/** Parameters: the time by which a run is due, now, dead processes. */
const tallyText = `
  SELECT workflow, status, mark, waits, driven, due, count(*) AS runs, min(wake_at) AS wake_at,
    min(CASE WHEN due THEN due_order + priority END) AS due_since
  FROM (
    SELECT workflow, CASE WHEN blocked IS NULL THEN status ELSE 'blocked' END AS status, ${mark} AS mark,
      waits_at IS NOT NULL AS waits, ifnull(lease_until > ?2 AND NOT dead, 0) AS driven,
      ifnull(wake_at <= ?1 AND (dead OR (quiet_until <= ?2 AND ifnull(lease_until, 0) <= ?2)), 0) AS due,
      wake_at, due_order, 1000 * ifnull(CASE WHEN json_valid(flow) THEN flow ->> 'priority' END, 0) AS priority
    FROM (SELECT *, ifnull(process IN (SELECT value FROM json_each(?3)), 0) AS dead FROM (${openRuns}))
  ) GROUP BY workflow, status, mark, waits, driven, due, wake_at IS NULL, wake_at <= ?1`;

export function dueWork(database: DatabaseSync) {
  return {
    /** Runs whose time has come are asleep no longer. */
    wakeUp: database.prepare(
      `UPDATE runs SET asleep = 0 WHERE id IN (
         SELECT id FROM ${asleepRuns} WHERE workflow = ? AND wake_at <= ? AND ${isAsleep} ORDER BY wake_at LIMIT ?)`,
    ),
    isAnyAwake: database.prepare(
      `SELECT 1 FROM ${asleepRuns} WHERE workflow = ? AND wake_at <= ? AND ${isAsleep} LIMIT 1`,
    ),
    firstFair: numbered(
      database,
      `SELECT fair FROM ${dueRunsOf} WHERE workflow = ?1 AND fair >= ?2 AND ${wanted} ORDER BY fair, due_order LIMIT 1`,
    ),
    nextFair: numbered(
      database,
      `SELECT fair FROM ${dueRunsOf} WHERE workflow = ?1 AND fair > ?2 AND ${wanted} ORDER BY fair, due_order LIMIT 1`,
    ),
    dueOfFair: numbered(
      database,
      `SELECT * FROM ${dueRunsOf} WHERE workflow = ?1 AND fair = ?2 AND ${wanted} ORDER BY due_order, id LIMIT ?7`,
    ),
    /** The next key of `fair` with runs that are due, whether they have a driver or not. */
    firstFairKey: numbered(
      database,
      `SELECT fair FROM ${dueRunsOf} WHERE workflow = ?1 AND ${isDueRow} ORDER BY fair LIMIT 1`,
    ),
    fairKey: numbered(
      database,
      `SELECT fair FROM ${dueRunsOf} WHERE workflow = ?1 AND fair > ?2 AND ${isDueRow} ORDER BY fair LIMIT 1`,
    ),
    // Not one statement for both: a condition with OR would walk over all slots before.
    firstSlot: numbered(
      database,
      `SELECT slot FROM ${bySlot} AND slot >= ?7 AND ${wanted} ORDER BY slot, due_order LIMIT 1`,
    ),
    nextSlot: numbered(
      database,
      `SELECT slot FROM ${bySlot} AND slot > ?7 AND ${wanted} ORDER BY slot, due_order LIMIT 1`,
    ),
    dueOfSlot: numbered(
      database,
      `SELECT * FROM ${bySlot} AND slot = ?7 AND ${wanted} ORDER BY due_order, id LIMIT ?8`,
    ),
    tally: numbered(database, tallyText),
    ...next(database),
  };
}

/** Who drives runs, and when one is due next. */
function next(database: DatabaseSync) {
  return {
    driversOf: database.prepare(
      `SELECT DISTINCT process FROM ${drivenRuns} WHERE workflow = ? AND ${isDriven}`,
    ),
    /** From one name to the next, so that it costs as many steps as there are names. */
    nextWorkflow: database.prepare(
      "SELECT min(workflow) AS name FROM runs INDEXED BY runs_by_workflow WHERE workflow > ?",
    ),
    nextWake: numbered(
      database,
      `SELECT wake_at AS at FROM ${asleepRuns} WHERE workflow = ?1 AND wake_at > ?2 AND ${isAsleep} ORDER BY wake_at LIMIT 1`,
    ),
    nextWakeOf: numbered(
      database,
      `SELECT wake_at AS at FROM runs INDEXED BY runs_asleep_by_version
         WHERE workflow = ?1 AND wake_at > ?2 AND version = ?3 AND ${isAsleep} ORDER BY wake_at LIMIT 1`,
    ),
    // Runs that are due and have a driver or are quiet: as many as the fleet drives, not as many as wait.
    nextVisible: numbered(
      database,
      `SELECT min(max(quiet_until, ifnull(lease_until, 0))) AS at FROM ${dueRunsOf}
         WHERE workflow = ?1 AND wake_at <= ?2 AND ${isDueRow} AND (?3 IS NULL OR version = ?3)`,
    ),
    nextVisibleAsleep: numbered(
      database,
      `SELECT min(max(quiet_until, ifnull(lease_until, 0))) AS at FROM ${asleepRuns}
         WHERE workflow = ?1 AND wake_at <= ?2 AND ${isAsleep} AND (?3 IS NULL OR version = ?3)`,
    ),
  };
}
