/** The runs of a time, for sums: read in the order of an index, without the checks of rows that are to be driven. */

import { duringOf, endStatuses } from "../../ports/storage-kit.ts";
import type { DuringQuery, RunDuring } from "../../ports/storage.ts";
import { endedRuns } from "./due-statements.ts";
import { endedWorkflowsOf } from "./listing.ts";
import { headOf, type Row, type Statements } from "./statements.ts";

/** What a head of a sum is made from; no run of a list is as short. */
const columns = `locator, run_id, workflow, status, wake_at, due_order, created_at, updated_at, steps, label, parent,
  ancestors, tags, version, marks`;

const created = `SELECT ${columns} FROM runs INDEXED BY runs_by_created
  WHERE created_at >= ? AND created_at < ? AND deleted = 0 ORDER BY created_at DESC, workflow DESC LIMIT ?`;
const ended = `SELECT ${columns} FROM ${endedRuns} WHERE ended_at IS NOT NULL AND deleted = 0
  AND workflow = ? AND status = ? AND ended_at >= ? AND ended_at < ? ORDER BY ended_at DESC LIMIT ?`;

export function runsDuring(sql: Statements, query: DuringQuery): RunDuring[] {
  const { by, after, before, status, limit } = query;
  if (by === "created") return sql.list(created, [after, before, limit]).flatMap(shown);
  const statuses = endStatuses.filter((one) => status === undefined || one === status);
  const rows = endedWorkflowsOf(sql).flatMap((workflow) =>
    statuses.flatMap((one) => sql.list(ended, [workflow, one, after, before, limit])),
  );
  return rows
    .toSorted((a, b) => Number(b["updated_at"]) - Number(a["updated_at"]))
    .slice(0, limit)
    .flatMap(shown);
}

function shown(row: Row): RunDuring[] {
  try {
    return [duringOf(headOf(row))];
  } catch {
    // Its row is damaged. Lists show it as such.
    return [];
  }
}
