/** Rows of the tables, as the port shows them. */

import type { ListQuery, RunHead, RunStatus } from "@durable/core";
import type { BlockedNote, RunDuring, RunFlow, RunTally, SearchedRow } from "@durable/core/storage";
import { dueSinceOf, duringOf, isDead, damagedHead, noted, readMarks } from "@durable/core/storage";
import type { TallyRow } from "./sql/tally.ts";
import { take } from "./text.ts";

/** A row of `runs`. Rows come from columns or from JSON: numbers may be texts. */
export interface RunRow {
  readonly id: string | number;
  readonly locator: string;
  readonly run_id: string;
  readonly workflow: string;
  readonly label: string | null;
  readonly parent: string | null;
  readonly ancestors: string;
  readonly reads_from: string | null;
  readonly created_at: number;
  readonly status: string;
  readonly wake_at: number | null;
  readonly due_order: number | null;
  readonly updated_at: number;
  readonly steps: number;
  readonly chapter: number | null;
  readonly blocked: string | null;
  readonly flow: string | null;
  readonly fair: string;
  readonly slot: string | null;
  readonly tags: string | null;
  readonly version: string | null;
  /** Missing in claims, like those below. */
  readonly report?: string | null;
  readonly marks?: string | null;
  readonly waits_at?: number | null;
  readonly process?: string | null;
  /** In lists: its lease lasts. */
  readonly driven?: boolean | null;
}

/** A row as `read` returns it. */
export interface WholeRow extends RunRow {
  readonly length: number;
  readonly dropped: number;
  readonly deleted: boolean;
}

export function headOf(row: RunRow): RunHead {
  const flow = row.flow === null ? undefined : (JSON.parse(row.flow) as RunFlow);
  return {
    locator: row.locator,
    runId: take(row.run_id),
    workflow: take(row.workflow),
    status: row.status as RunStatus,
    wakeAt: row.wake_at,
    dueSince: dueSinceOf(row.due_order, flow),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    steps: row.steps,
    label: row.label === null ? null : take(row.label),
    parent: row.parent === null ? null : take(row.parent),
    ancestors: JSON.parse(row.ancestors) as string[],
    ...(row.reads_from !== null && { readsFrom: JSON.parse(row.reads_from) as number[] }),
    ...(row.chapter !== null && { chapter: row.chapter }),
    ...(flow !== undefined && { flow }),
    ...(row.tags !== null && { tags: JSON.parse(row.tags) as Record<string, string> }),
    ...(row.version !== null && { version: take(row.version) }),
    ...(typeof row.report === "string" && { report: take(row.report) }),
    ...(typeof row.marks === "string" && readMarks(take(row.marks))),
  };
}

/** True while the lease of a run lasts, and its driver is not known to be dead. */
export function isDriven({ driven, process }: Pick<RunRow, "driven" | "process">): boolean {
  return driven === true && !(typeof process === "string" && isDead(process));
}

/** The head of a run with its note. */
export function notedHead(row: RunRow): RunHead {
  try {
    return noted(headOf(row), row.blocked === null ? null : noteOf(row.blocked));
  } catch (error) {
    const { locator, created_at: createdAt, updated_at: updatedAt } = row;
    const named = { locator, runId: take(row.run_id), workflow: take(row.workflow), createdAt, updatedAt };
    const why = error instanceof Error ? error.message : String(error);
    return damagedHead(named, `The row of run ${named.runId} is damaged: ${why}. Restore it from a backup.`);
  }
}

export function tallyOf(row: TallyRow): RunTally {
  const { mark, waits, driven, due, wake_at: wakeAt, due_since: dueSince } = row;
  const named = { workflow: take(row.workflow), status: row.status as RunStatus, runs: Number(row.runs) };
  return { ...named, ...(mark !== null && { mark }), waits, driven, due, wakeAt, dueSince };
}

/** What a search for a text reads. */
export function textsOf({ run_id: runId, label, tags }: RunRow): SearchedRow {
  return { runId: take(runId), label: label === null ? null : take(label), tags };
}

/** The time by which a list is sorted; 0 in one that begins with the newest run. */
export function timeOf({ dueAt, endedBefore, waiting }: ListQuery, row: RunRow): number {
  if (dueAt !== undefined) return row.due_order ?? 0;
  if (endedBefore !== undefined) return row.updated_at;
  return waiting === undefined ? 0 : (row.waits_at ?? 0);
}

/** A note as its row has it: JSON, which has no U+0000. */
export function noteText({ code, message, since, length }: BlockedNote): string {
  return JSON.stringify([code, message, since, length]);
}

export function noteOf(text: string): BlockedNote {
  const [code, message, since, length] = JSON.parse(text) as [string, string, number, number];
  return { code, message, since, length };
}

/** A run as sums see it. */
export function rowDuring(row: RunRow): RunDuring[] {
  try {
    return [duringOf(headOf(row))];
  } catch {
    // Its row is damaged. Lists show it as such.
    return [];
  }
}
