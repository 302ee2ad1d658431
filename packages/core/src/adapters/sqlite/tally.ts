/** How many runs do what: `tally` of the port, in one query. Proven by the conformance suite. */

import type { RunStatus, RunTally } from "../../ports/storage.ts";
import { deadDrivers } from "./listing.ts";
import type { Row, Statements } from "./statements.ts";

export function tallied(sql: Statements, dueAt: number, now: number): RunTally[] {
  const dead = JSON.stringify(deadDrivers(sql, null));
  return (sql.tally.all(dueAt, now, dead) as Row[]).map((row) => ({
    workflow: String(row["workflow"]),
    status: row["status"] as RunStatus,
    ...(row["mark"] !== null && { mark: row["mark"] as NonNullable<RunTally["mark"]> }),
    runs: Number(row["runs"]),
    waits: row["waits"] === 1,
    driven: row["driven"] === 1,
    due: row["due"] === 1,
    wakeAt: row["wake_at"] as number | null,
    dueSince: row["due_since"] as number | null,
  }));
}
