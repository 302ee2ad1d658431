/**
 * What a run does, in one word. Outcomes, lists, HTTP, the command line, the page, MCP and metrics show this word.
 *
 * run-state.1. A word that comes first in the list of `RunStateName` wins over those after it.
 */

import type { RunHead } from "../ports/storage.ts";
import { hasEnded } from "../ports/storage-kit.ts";

/**
 * What a run does: ended (`completed`, `failed`, `cancelled`); unable to continue (`blocked`); stopped by an operator, itself
 * or its workflow (`paused`); undoing its work before it ends (`cancelling`, `failing`); a `Journal` without a workflow that has
 * not ended (`open`); driven (`running`); due without a driver, or without a free place (`queued`); waiting for an answer, a
 * message or a child (`waiting`); or for a time alone, also that of its start (`sleeping`).
 */
export type RunStateName =
  | "completed"
  | "failed"
  | "cancelled"
  | "blocked"
  | "paused"
  | "cancelling"
  | "failing"
  | "open"
  | "running"
  | "queued"
  | "waiting"
  | "sleeping";

/** What the word depends on beside the head. */
export interface Seen {
  readonly now: number;
  /** The workflow of the run is paused. */
  readonly paused: boolean;
}

type Head = Pick<RunHead, "status" | "workflow" | "wakeAt" | "mark"> & {
  readonly waits?: unknown;
  readonly driven?: boolean | undefined;
};

export function stateOf(head: Head, { now, paused }: Seen): RunStateName {
  const { status, workflow, wakeAt, waits, mark, driven } = head;
  if (hasEnded(head)) return status as "completed" | "failed" | "cancelled";
  if (status === "blocked") return status;
  if (status === "paused" || paused) return "paused";
  if (mark === "cancelling" || mark === "failing") return mark;
  if (workflow === "") return "open";
  // A storage that does not know its drivers leaves out `driven`.
  if (driven ?? status === "running") return "running";
  if (wakeAt !== null && wakeAt <= now) return "queued";
  return wakeAt === null || waits !== undefined || mark === "waiting" ? "waiting" : "sleeping";
}
