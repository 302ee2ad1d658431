/** The text of the runs of a time: in the order of an index. That of their creation is the order of their numbers. */

import type { DuringQuery } from "@durable/core/storage";
import { endStatuses } from "@durable/core/storage";
import { endedWorkflows } from "./due.ts";
import { latestPlaceMs, type ListText } from "./list.ts";
import { placeOf } from "./tables.ts";

const columns = `r.id, r.locator, r.run_id, r.workflow, r.status, r.wake_at, r.due_order, r.created_at, r.updated_at, r.steps,
  r.label, r.parent, r.ancestors, NULL AS reads_from, NULL::int AS chapter, NULL AS flow, r.tags, r.version, r.marks`;

export function duringText(schema: string, { by, after, before, status, limit }: DuringQuery): ListText {
  if (by === "created")
    return {
      text: `SELECT ${columns} FROM ${schema}.runs r WHERE NOT r.deleted AND r.created_at >= $1::float8
    AND r.created_at < $2::float8 AND r.id >= ${placeOf("$1::float8")}
    AND r.id < ${placeOf(`$2::float8 + ${latestPlaceMs}`)} ORDER BY r.id DESC LIMIT $3::int`,
      values: [after, before, limit],
    };
  const statuses = endStatuses.filter((one) => status === undefined || one === status);
  return {
    text: `SELECT e.* FROM (${endedWorkflows(schema)}) AS w (name) CROSS JOIN unnest($4::text[]) AS s (name)
    CROSS JOIN LATERAL (SELECT ${columns} FROM ${schema}.runs r WHERE NOT r.deleted AND r.workflow = w.name
      AND r.status = s.name AND r.ended_at IS NOT NULL AND r.ended_at >= $1::float8 AND r.ended_at < $2::float8
      ORDER BY r.ended_at DESC LIMIT $3::int) AS e ORDER BY e.updated_at DESC LIMIT $3::int`,
    values: [after, before, limit, statuses],
  };
}
