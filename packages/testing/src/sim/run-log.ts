/**
 * Journals as an onlooker reads them: a few lines of their own, so that the engine is not its own judge.
 */

import type { Parts } from "./stored-values.ts";

/** One entry of a journal, as written: the fields a judge asks for. */
export interface WrittenEntry {
  readonly kind: string;
  readonly at: number;
  readonly key?: string;
  readonly wait?: string;
  readonly value?: unknown;
  readonly attempt?: number;
  readonly until?: number;
  readonly expiresAt?: number | null;
  readonly retryAt?: number;
  readonly wakeAt?: number | null;
  /** When a parked run looks after its children. */
  readonly look?: number;
  /** Chunks of a stream: the index of the first, how many a whole stream has, and whether an attempt is one's. */
  readonly from?: number;
  readonly chunks?: readonly unknown[];
  readonly count?: number;
  readonly stream?: true;
  readonly child?: string;
  readonly childOf?: ChildOf;
  readonly answer?: number;
  readonly base?: number;
  readonly edits?: readonly unknown[];
  readonly after?: number;
  readonly ancestry?: readonly { readonly length: number }[];
  readonly output?: unknown;
  readonly error?: unknown;
}

/** Whose child a run is. */
export interface ChildOf {
  readonly runId: string;
  readonly key: string;
}

export interface AppliedBatch {
  readonly text: string;
  readonly by: string;
  readonly outside: boolean;
  readonly entries: readonly WrittenEntry[];
  /** The process that sent it, and the time of the storage when it landed. */
  readonly process: string;
  readonly at: number;
}

export interface RunLog {
  readonly runId: string;
  readonly locator: string;
  readonly workflow: string;
  /** Of a fork. */
  readonly parent: string | null;
  /** The run that had the parent's id when this one was made. */
  readonly parentLog: RunLog | undefined;
  readonly childOf: ChildOf | null;
  /** The run that had the id of the one above when this child was made. */
  readonly above: RunLog | undefined;
  /** It is a child, or has had one: then a process reads its journal on behalf of others, too. */
  family: boolean;
  /** What its batches are made of. */
  readonly parts: Parts;
  readonly batches: AppliedBatch[];
  status: "running" | "suspended" | "completed" | "failed" | "cancelled";
  deleted: boolean;
  /** The storage lied about this run: what it forgot cannot be held against anybody. */
  tainted: boolean;
}

/** Who wrote a batch: its write id without the count. */
export function driverOf({ by }: AppliedBatch): string {
  return by.slice(0, by.lastIndexOf("."));
}

export const isEnd = (kind: string): boolean => /^run\.(completed|failed|cancelled)$/.test(kind);
const settlements = new Set([
  "step.completed",
  "step.failed",
  "sleep.fired",
  "suspend.resolved",
  "suspend.expired",
  "stream.completed",
  "stream.failed",
  "child.completed",
  "child.failed",
]);
export const isSettlement = (kind: string): boolean => settlements.has(kind);

/** Nobody drives a journal without a workflow: it is never anybody's turn to end it. */
export function isOpen({ status, deleted, workflow }: RunLog): boolean {
  return !deleted && workflow !== "" && (status === "running" || status === "suspended");
}

/** When its first entry was written: what tells two runs of one id apart. */
export function createdAt({ batches }: RunLog): number | undefined {
  return batches[0]?.entries[0]?.at;
}

/** The run at the top of a family: children are driven in the place of those above them. */
export function topOf(run: RunLog): RunLog {
  return run.above === undefined ? run : topOf(run.above);
}

/** When a parked run wants to be woken. */
export function wakeOf({ wakeAt = null, look }: WrittenEntry): number | null {
  return look === undefined ? wakeAt : Math.min(look, wakeAt ?? look);
}

/** What a token names, whichever key of the ring signed it. */
export function namedBy(token: string): string {
  return token.slice(1, 29);
}

/** Law 2 in four lines: an end is final, a park is a park, all else means that somebody must drive. */
export function statusAfter(status: RunLog["status"], kind: string): RunLog["status"] {
  if (status !== "running" && status !== "suspended") return status;
  if (isEnd(kind)) return kind.slice("run.".length) as RunLog["status"];
  return kind === "run.suspended" ? "suspended" : "running";
}
