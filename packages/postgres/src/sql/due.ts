/**
 * Due runs: lists, and when the next run is due. Each workflow is searched on its own, in the order of its index,
 * so that the cost grows with the runs that are asked for, and not with those that wait or are driven.
 */

import { clock } from "./clock.ts";

/** The columns of a row that lists and claims return. */
export const columns =
  "id locator run_id workflow label parent ancestors reads_from created_at status wake_at due_order updated_at steps chapter blocked tags version flow fair slot"
    .split(" ")
    .map((name) => `r.${name}`)
    .join(", ");

/** SQL expressions that a search for due runs is made of. */
export interface DueTerms {
  readonly columns: string;
  readonly workflow: string;
  readonly dueAt: string;
  readonly now: string;
  /** Processes that are dead: their leases no longer count. */
  readonly dead: string;
  readonly most: string;
  /** Further conditions, beginning with AND. */
  readonly and?: string;
}

export const until = "greatest(r.lease_until, r.quiet_until)";

/**
 * The due runs of one workflow: those that wait, by key of `fair` or by version; those whose time has come and that no claim
 * has woken up yet; those whose lease has ended; those whose driver is dead.
 */
export function dueRuns(schema: string, { and = "", ...terms }: DueTerms): string {
  const base = `r.workflow = ${terms.workflow} AND r.wake_at <= ${terms.dueAt} AND r.wake_at IS NOT NULL AND NOT r.deleted`;
  const part = (where: string): string =>
    `(SELECT ${terms.columns} FROM ${schema}.runs r WHERE ${base} AND ${where} ${and} ORDER BY r.due_order, r.id LIMIT ${terms.most})`;
  const fair = distinct(
    schema,
    "fair",
    `r.workflow = ${terms.workflow} AND r.wake_at IS NOT NULL AND NOT r.asleep AND NOT r.held AND NOT r.deleted`,
  );
  return [
    `(SELECT l.* FROM (${fair}) AS f (fair) CROSS JOIN LATERAL ${part("NOT r.asleep AND NOT r.held AND r.fair = f.fair")} AS l)`,
    part("r.asleep AND NOT r.held"),
    part(`r.held AND r.held_until <= ${terms.now} AND ${until} <= ${terms.now}`),
    part(`r.held AND r.process IS NOT NULL AND r.process = ANY (${terms.dead}) AND ${until} > ${terms.now}`),
  ].join("\n    UNION ALL ");
}

/** Skips from one distinct value of an indexed column to the next, so that the cost is that of the values. */
const distinct = (schema: string, column: string, where: string): string => `
  WITH RECURSIVE found (value) AS (
    (SELECT r.${column} FROM ${schema}.runs r WHERE ${where} ORDER BY r.${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT r.${column} FROM ${schema}.runs r WHERE ${where} AND r.${column} > found.value
      ORDER BY r.${column} LIMIT 1) FROM found WHERE found.value IS NOT NULL
  ) SELECT value FROM found WHERE value IS NOT NULL`;

/** All workflows that have runs. */
export const allWorkflows = (schema: string): string => distinct(schema, "workflow", "NOT r.deleted");

/** All workflows that have runs which have ended. */
export const endedWorkflows = (schema: string): string =>
  distinct(schema, "workflow", "r.ended_at IS NOT NULL AND NOT r.deleted");

/** Processes of one machine that have a lease: their names begin with $1 and are before $2. */
export const driversText = (schema: string): string =>
  distinct(
    schema,
    "process",
    "r.wake_at IS NOT NULL AND r.held AND NOT r.deleted AND r.process IS NOT NULL AND r.process >= $1 AND r.process < $2",
  );

/**
 * When a run of the workflows $1, and of the versions $3 if there are some, is due next, and what the time is now ($2 or
 * that of the server). For a run that is driven it may be too early, and then it is asked again.
 */
export const nextDueText = (schema: string, versions: boolean): string => {
  const isOne = `r.workflow = w.name${versions ? " AND r.version = v.version" : ""}`;
  return `
  SELECT ${clock("$2::float8")} AS now, min(d.at) AS at
  FROM unnest($1::text[]) AS w (name)${versions ? " CROSS JOIN unnest($3::text[]) AS v (version)" : ""} CROSS JOIN LATERAL (
    (SELECT r.wake_at AS at FROM ${schema}.runs r
      WHERE ${isOne} AND r.wake_at IS NOT NULL AND NOT r.asleep AND NOT r.held AND NOT r.deleted
      ORDER BY r.fair, r.due_order LIMIT 1)
    UNION ALL
    (SELECT r.wake_at AS at FROM ${schema}.runs r
      WHERE ${isOne} AND r.wake_at IS NOT NULL AND r.asleep AND NOT r.held AND NOT r.deleted
      ORDER BY r.wake_at LIMIT 1)
    UNION ALL
    (SELECT min(greatest(r.wake_at, r.lease_until, r.quiet_until)) AS at FROM ${schema}.runs r
      WHERE ${isOne} AND r.wake_at IS NOT NULL AND r.held AND NOT r.deleted
        AND r.held_until <= ${clock("$2::float8")})
    UNION ALL
    (SELECT r.held_until AS at FROM ${schema}.runs r
      WHERE ${isOne} AND r.wake_at IS NOT NULL AND r.held AND NOT r.deleted
        AND r.held_until > ${clock("$2::float8")}
      ORDER BY r.held_until LIMIT 1)
  ) AS d`;
};

/** Whether a dead process of $1 has a due run of one of the workflows $2. */
export const orphansText = (schema: string): string => `
  SELECT EXISTS (SELECT FROM ${schema}.runs r WHERE r.process = ANY ($1::text[]) AND r.workflow = ANY ($2::text[])
    AND r.wake_at <= ${clock("$3::float8")} AND r.held AND NOT r.deleted) AS found`;
