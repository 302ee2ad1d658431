/**
 * Journals as the checks read them, with code of their own, so that the engine does not judge itself. Proven
 * by the planted bugs of `npm run sim:mutants`.
 */

import type { Parts } from "./stored-values.ts";

/** One entry of a journal as written: the fields that the checks need. */
export interface WrittenEntry {
  readonly kind: string;
  readonly at: number;
  readonly key?: string;
  readonly wait?: string;
  readonly value?: unknown;
  readonly attempt?: number;
  readonly until?: number;
  readonly expiresAt?: number | null;
  /** Of a wait: the JSON Schema of its answers, and whether they are checked without one. */
  readonly schema?: unknown;
  readonly checked?: true;
  readonly retryAt?: number;
  readonly wakeAt?: number | null;
  /** When a parked run checks its children. */
  readonly look?: number;
  /**
   * Chunks of a stream: the index of the first, how many a whole stream has, and whether a failed attempt was
   * a stream's.
   */
  readonly from?: number;
  readonly chunks?: readonly unknown[];
  readonly count?: number;
  readonly stream?: true;
  readonly child?: string;
  readonly childOf?: ChildOf;
  readonly spawnedBy?: ChildOf;
  readonly onParentEnd?: "cancel";
  readonly tags?: Readonly<Record<string, string | null>>;
  /** The position of an answer or a message; negative for one that came with the chapter. */
  readonly answer?: number;
  /** The answer is a failure. */
  readonly rejects?: boolean;
  readonly topic?: string;
  /** The id of a message. */
  readonly id?: string;
  /** What a chapter begins with. */
  readonly messages?: {
    readonly unread?: readonly (readonly [topic: string, id: string, at: number, value: string])[];
  };
  readonly base?: number;
  readonly edits?: readonly WrittenEdit[];
  /** The input of a run; of a step, a fingerprint of what it declares. */
  readonly input?: unknown;
  /** Where a fork went back to. */
  readonly cuts?: readonly { readonly key: string; readonly keep: boolean }[];
  readonly after?: number;
  /** What a fork reads: of each run, the chapter that begins at batch `from`. */
  readonly ancestry?: readonly {
    readonly runId: string;
    readonly length: number;
    readonly from?: number;
    readonly nonce?: string;
  }[];
  /** Names the incarnation or chapter that begins. */
  readonly nonce?: string;
  /** The number of the chapter that begins. */
  readonly chapter?: number;
  readonly output?: unknown;
  /** At the end of a run: work that still ran, and was not waited for. */
  readonly abandoned?: readonly string[];
  readonly error?: unknown;
  /** The reason of a cancellation. */
  readonly reason?: unknown;
  /** The step that starts is undone if the run fails or is cancelled. */
  readonly compensate?: true;
  /** At the end of a run: steps whose compensation failed. */
  readonly uncompensated?: readonly string[];
  /** The version of the code that a chapter begins with. */
  readonly version?: string | null;
  /** When the run fails, unless it has ended before. */
  readonly deadline?: number | null;
  /** When and beside which others a run may begin. */
  /** In the cancellation of a run that the one above no longer needed. */
  readonly unneeded?: number;
  readonly flow?: {
    readonly startAt?: number;
    readonly priority?: number;
    readonly singleton?: string;
  };
  /** The run begins, with the input that it has. */
  readonly begun?: true;
  /** The call whose failure a retry takes back. */
  readonly failed?: readonly string[];
}

/** A value that a fork replaces; `open` is where the call was made that had not settled. */
export interface WrittenEdit {
  readonly key: string;
  readonly open?: { readonly after: number };
}

/** The parent of a child run. */
export interface ChildOf {
  readonly runId: string;
  readonly key: string;
}

export interface AppliedBatch {
  readonly text: string;
  readonly by: string;
  readonly outside: boolean;
  readonly entries: readonly WrittenEntry[];
  /** The process that sent it, and the storage's time when it was applied. */
  readonly process: string;
  readonly at: number;
}

/** One chapter of a run: a log of its own, because chapters share no keys, tokens, draws or children. */
export interface RunLog {
  readonly runId: string;
  /** Counts from 1. */
  readonly chapter: number;
  /** The chapter before this one. */
  readonly earlier: RunLog | undefined;
  /** The position of its first batch. */
  readonly offset: number;
  /** The number that its input gives it in generated code: a fork of a second chapter goes on from 2. */
  part: number;
  /** When the next chapter began, by the storage's clock. */
  continuedAt: number;
  /** Its batches were removed from the storage. */
  dropped: boolean;
  readonly locator: string;
  readonly workflow: string;
  /** For a fork. */
  readonly parent: string | null;
  /** The run that had the parent's id when this fork was made. */
  readonly parentLog: RunLog | undefined;
  readonly childOf: ChildOf | null;
  /** The run that spawned it. */
  readonly spawnedBy: ChildOf | null;
  /** The run that had the parent's id when this child was made. */
  readonly above: RunLog | undefined;
  /** It is a child or has had one, so a process may read its journal for another run. */
  family: boolean;
  /** The blobs and sealed places in its batches. */
  readonly parts: Parts;
  readonly batches: AppliedBatch[];
  /** An earlier chapter has `continued`. */
  status: "running" | "suspended" | "paused" | "completed" | "failed" | "cancelled" | "continued";
  deleted: boolean;
  /** By the storage's clock. */
  deletedAt: number;
  /** The storage forgot a batch of this run, so most checks skip it. */
  tainted: boolean;
}

/** The chapters of a run up to this one, the first one first. */
export function chaptersOf(run: RunLog): RunLog[] {
  return run.earlier === undefined ? [run] : [...chaptersOf(run.earlier), run];
}

/** The batches of all chapters up to this one. */
export function batchesOf(run: RunLog): AppliedBatch[] {
  return chaptersOf(run).flatMap(({ batches }) => batches);
}

/** True when both are chapters of one run. */
export function areOneRun(a: RunLog, b: RunLog): boolean {
  return chaptersOf(a)[0] === chaptersOf(b)[0];
}

/** An entry and its position in the numbering that a run shares with its ancestors. */
export interface Placed {
  readonly entry: WrittenEntry;
  readonly seq: number;
}

/** The entries of a run with their positions. */
export function placed({ batches }: RunLog): Placed[] {
  const entries = batches.flatMap((batch) => batch.entries);
  const base = entries[0]?.base ?? 0;
  return entries.map((entry, i) => ({ entry, seq: base + i + 1 }));
}

/** The driver that wrote a batch: its write id without the counter. */
export function driverOf({ by }: Pick<AppliedBatch, "by">): string {
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
  "cleanup.completed",
  "cleanup.failed",
  "spawn.started",
  "spawn.failed",
]);
export const isSettlement = (kind: string): boolean => settlements.has(kind);

/** A journal without a workflow has no driver, so it is never open. */
export function isOpen({ status, deleted, workflow }: RunLog): boolean {
  return !deleted && workflow !== "" && /^(running|suspended|paused)$/.test(status);
}

/** True when it failed once, and went on. */
export function isRetried({ batches }: RunLog): boolean {
  return batches.some(({ entries }) => entries.some(({ kind }) => kind === "run.retried"));
}

/** When its first entry was written, which distinguishes runs of one id, and mostly their chapters. */
export function createdAt({ batches }: RunLog): number | undefined {
  return batches[0]?.entries[0]?.at;
}

/**
 * True when both were begun by the same request, which arrived again after the run was deleted: nothing
 * distinguishes them.
 */
export function areOneStart(a: RunLog, b: RunLog): boolean {
  return a.batches[0]?.by === b.batches[0]?.by;
}

/** The run at the top of a family: a worker drives children in the place of their parent. */
export function topOf(run: RunLog): RunLog {
  return run.above === undefined ? run : topOf(run.above);
}

/** When a parked run wants to be woken. */
export function wakeOf({ wakeAt = null, look }: WrittenEntry): number | null {
  return look === undefined ? wakeAt : Math.min(look, wakeAt ?? look);
}

/** When a run that has no driver wants to be woken: at the end of its park, or at its time to begin. */
export function parkedUntil(entries: readonly WrittenEntry[]): number | null {
  const last = entries.at(-1);
  return last?.kind === "run.suspended" ? wakeOf(last) : (flowOf(entries)?.startAt ?? 0);
}

/** What a run was last recorded with. */
export function flowOf(entries: readonly WrittenEntry[]): WrittenEntry["flow"] {
  return entries.findLast(({ flow }) => flow !== undefined)?.flow;
}

/** The part of a token that identifies its wait, whichever key signed it. */
export function namedBy(token: string): string {
  return token.slice(1, 29);
}

/**
 * Law 2: an end is final unless a failed run is retried, a pause lasts until it is taken back or the run is cancelled, a
 * park is a park, and anything else means that the run needs a driver.
 */
export function statusAfter(
  status: RunLog["status"],
  entry: WrittenEntry,
  entries: () => readonly WrittenEntry[],
): RunLog["status"] {
  const { kind, flow, begun } = entry;
  if ((status === "failed" || status === "cancelled") && kind === "run.retried") return "running";
  if (status !== "running" && status !== "suspended" && status !== "paused") return status;
  const goesOn = kind === "run.unpaused" || kind === "run.cancelling" || isEnd(kind);
  if (kind === "run.paused" || (status === "paused" && !goesOn)) return "paused";
  if (isEnd(kind)) return kind.slice("run.".length) as RunLog["status"];
  // A run whose time has not come is parked, too, whatever others tell it.
  const isTold = /^(message\.sent|suspend\.answered|run\.unpaused)$/.test(kind);
  const isToldEarly = isTold && isEarly(entries(), entry, status);
  const waits = (flow?.startAt !== undefined || isToldEarly) && begun !== true && kind !== "run.continued";
  return kind === "run.suspended" || waits ? "suspended" : "running";
}

/** After a pause, the clock of the writer says whether the time of the run has come. Others do not change it. */
function isEarly(
  entries: readonly WrittenEntry[],
  { kind, at }: WrittenEntry,
  status: RunLog["status"],
): boolean {
  const { startAt } = flowOf(entries) ?? {};
  if (startAt === undefined) return false;
  if (kind === "run.unpaused") return startAt > at;
  const last = entries.findLast((entry) => /^run\.(suspended|unpaused)$/.test(entry.kind));
  return status === "suspended" && (last?.kind !== "run.suspended" || wakeOf(last) === startAt);
}
