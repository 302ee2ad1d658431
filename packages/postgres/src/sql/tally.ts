/**
 * How many runs that have not ended do what, in one query.
 *
 * tally-sql.1. It reads the rows of runs that have not ended, and of no other: their statuses are a part of an index. A join
 *     would scan the whole table. So each part is in the order of the index, and has a limit of which Postgres does not know
 *     how large it is, whatever its statistics are.
 */

import { clock } from "./clock.ts";
import { allWorkflows, until } from "./due.ts";

/** In the text of marks, quotes of values are escaped, so that no value looks like this. */
const mark = ["waiting", "failing", "cancelling"]
  .map((word) => `WHEN strpos(r.marks, '"mark":"${word}"') > 0 THEN '${word}'`)
  .join(" ");

/** The time by which a run is due, the clock of the caller, dead processes. */
export const tallyText = (schema: string): string => `
  WITH clock AS MATERIALIZED (SELECT ${clock("$2::float8")} AS now), seen AS (
    SELECT r.workflow, CASE WHEN r.blocked IS NULL THEN r.status ELSE 'blocked' END AS status, CASE ${mark} END AS mark,
      r.waits_at IS NOT NULL AS waits, coalesce(r.lease_until > c.now AND NOT d.dead, false) AS driven,
      coalesce(r.wake_at <= $1::float8 AND (d.dead OR coalesce(${until}, 0) <= c.now), false) AS due,
      r.wake_at, r.due_order,
      CASE WHEN r.flow IS NULL THEN 0 ELSE coalesce((r.flow::json ->> 'priority')::float8, 0) * 1000 END AS priority
    FROM clock c CROSS JOIN LATERAL (
      SELECT o.* FROM (${allWorkflows(schema)}) AS w (name) CROSS JOIN unnest('{running,suspended,paused}'::text[]) AS s (name)
        CROSS JOIN LATERAL (SELECT * FROM ${schema}.runs WHERE workflow = w.name AND status = s.name AND NOT deleted
          ORDER BY id LIMIT (SELECT ${2 ** 31 - 1})) AS o
    ) AS r CROSS JOIN LATERAL (SELECT coalesce(r.process = ANY ($3::text[]), false) AS dead) AS d
  )
  SELECT workflow, status, mark, waits, driven, due, count(*) AS runs, min(wake_at) AS wake_at,
    min(due_order + priority) FILTER (WHERE due) AS due_since
  FROM seen GROUP BY workflow, status, mark, waits, driven, due, wake_at IS NULL, wake_at <= $1::float8`;

/** A row of it. */
export interface TallyRow {
  readonly workflow: string;
  readonly status: string;
  readonly mark: "waiting" | "failing" | "cancelling" | null;
  readonly waits: boolean;
  readonly driven: boolean;
  readonly due: boolean;
  readonly runs: string;
  readonly wake_at: number | null;
  readonly due_since: number | null;
}
