/** Workflows that are paused. */

import type { WorkflowPause } from "@durable/core/storage";
import type { Database } from "./database.ts";
import { put, take } from "./text.ts";

interface PauseRow {
  readonly workflow: string;
  readonly reason: string | null;
  readonly since: number;
}

/** Keeps a workflow as paused; with `null` no longer. */
export async function keepPause(
  database: Database,
  workflow: string,
  pause: WorkflowPause | null,
): Promise<void> {
  const table = `${database.settings.quoted}.paused`;
  const name = put(workflow);
  if (pause === null) await database.rows(`DELETE FROM ${table} WHERE workflow = $1`, [name]);
  else
    await database.rows(
      `INSERT INTO ${table} (workflow, reason, since) VALUES ($1, $2, $3)
         ON CONFLICT (workflow) DO UPDATE SET reason = excluded.reason, since = excluded.since`,
      [name, pause.reason === null ? null : put(pause.reason), pause.since],
    );
}

export async function pausesIn(database: Database): Promise<readonly WorkflowPause[]> {
  const text = `SELECT workflow, reason, since FROM ${database.settings.quoted}.paused`;
  return (await database.rows<PauseRow>(text, [])).map(({ workflow, reason, since }) => ({
    workflow: take(workflow),
    reason: reason === null ? null : take(reason),
    since,
  }));
}
