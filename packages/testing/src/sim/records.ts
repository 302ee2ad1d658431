/**
 * Journals as an onlooker reads them: a few lines of their own, so that the engine is not its own judge.
 */

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
  readonly answer?: number;
  readonly base?: number;
  readonly edits?: readonly unknown[];
  readonly after?: number;
  readonly ancestry?: readonly { readonly length: number }[];
  readonly output?: unknown;
  readonly error?: unknown;
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
  readonly parent: string | null;
  /** The run that had the parent's id when this one was made. */
  readonly parentLog: RunLog | undefined;
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
]);
export const isSettlement = (kind: string): boolean => settlements.has(kind);

export function isOpen({ status, deleted }: RunLog): boolean {
  return !deleted && (status === "running" || status === "suspended");
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
