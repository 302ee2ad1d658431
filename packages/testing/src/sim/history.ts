/**
 * What happened in one simulation, as an onlooker sees it who trusts nobody: batches as they were applied,
 * bodies as they started, what workflow code was given, what callers from outside were told.
 * Journals are read here by a few lines of their own, so that the engine is not its own judge.
 */

import type { AppendRequest } from "@durable/core";

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
  readonly batches: AppliedBatch[];
  status: "running" | "suspended" | "completed" | "failed" | "cancelled";
  deleted: boolean;
  /** The storage lied about this run: what it forgot cannot be held against anybody. */
  tainted: boolean;
}

export interface PassParts {
  /** Absent when the run's first batch was forgotten by the storage. */
  readonly run: RunLog | undefined;
  /** The version of the code it ran. */
  readonly code: "first" | "changed";
  readonly process: string;
  /** Its process is a worker, which is asked to end before it is stopped. */
  readonly worker: boolean;
}

/** One life of a workflow function. */
export class Pass {
  readonly run: RunLog | undefined;
  readonly code: "first" | "changed";
  readonly process: string;
  readonly worker: boolean;
  /** All it was given, in order. */
  readonly seen: string[] = [];
  /** All keys it was given something under. */
  readonly keys = new Set<string>();
  /** Branches that have not returned, by what their keys begin with. */
  readonly #open = new Set<string>();
  readonly #lost = new Set<string>();

  constructor(parts: PassParts) {
    this.run = parts.run;
    this.code = parts.code;
    this.process = parts.process;
    this.worker = parts.worker;
  }

  /** Runs a branch and notes when it has returned. */
  async branch(work: () => unknown, path: string): Promise<unknown> {
    this.#open.add(path);
    try {
      return await work();
    } finally {
      this.#open.delete(path);
    }
  }

  /** A group is decided: what has not returned of it is lost. */
  close(group: string): void {
    for (const path of this.#open) {
      // What a branch that returned left behind goes on: nobody decided against it.
      const branch = path.slice(0, path.indexOf("]/", group.length) + 2);
      if (path.startsWith(`${group}[`) && this.#open.has(branch)) this.#lost.add(path);
    }
  }

  isLost(key: string): boolean {
    for (const path of this.#lost) if (key.startsWith(path)) return true;
    return false;
  }
}

export interface Body {
  readonly run: RunLog | undefined;
  readonly key: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly process: string;
  readonly at: number;
  /** What it returned; absent while it runs and when it failed. */
  value?: unknown;
  /** False for the work of users, whose values have a written form only the library knows. */
  readonly comparable: boolean;
}

/** An answer somebody tried to give. */
export interface Attempted {
  readonly runId: string;
  readonly key: string;
  readonly value: unknown;
  /** Under this name it may be sent again. */
  readonly id: string | null;
  readonly how: "resume" | "deliver";
  readonly valid: boolean;
  /** What the sender was told; null when the sender died or saw an error. */
  status: string | null;
  readonly from: number;
  until: number;
}

/** How a fork was asked for. */
export interface ForkNote {
  readonly id: string;
  readonly key: string;
  readonly how: "from" | "after" | "edit";
}

export interface Violation {
  readonly invariant: string;
  readonly message: string;
}

/** What each invariant says, for those who meet it in a failure. */
export const invariants: Readonly<Record<string, string>> = {
  I1: "one value per key, the same in every pass",
  I2: "a cold start reproduces the end and does no work",
  I3: "what is recorded ran, and is not paid for twice",
  I4: "every run ends, or waits for something that can come",
  I5: "the output is what the journal says",
  I6: "one answer per wait",
  I7: "a fork is given what its ancestors recorded",
  I8: "a dense journal, one writer after the other, and status is its fold",
  I9: "nothing starts after a cancellation that was seen, in a process that was asked to end, or in a lost branch",
  I10: "no timer is early",
  I12: "no work starts without a lease, nor more of it than a worker has places",
  I11: "no unhandled rejection, nothing left behind",
};

export interface TraceLine {
  readonly at: number;
  readonly who: string;
  readonly what: string;
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

export class History {
  readonly runs: RunLog[] = [];
  readonly #byLocator = new Map<string, RunLog>();
  readonly #byId = new Map<string, RunLog>();
  /** Locators of runs whose first batch was acknowledged and not kept. */
  readonly forgotten = new Set<string>();
  /** Another version of the code may be deployed. */
  readonly codeChanges: boolean;
  readonly forks: ForkNote[] = [];
  readonly writeIds = new Set<string>();
  /** Runs that their drivers say are blocked, since faults ended. */
  readonly blocked = new Set<string>();
  /** Which run each driver writes to. */
  readonly drivers = new Map<string, RunLog>();
  readonly passes: Pass[] = [];
  readonly bodies: Body[] = [];
  readonly answers: Attempted[] = [];
  /** From what a token names to the wait it answers, as the workflow code that made it says. */
  readonly waits = new Map<string, { readonly runId: string; readonly key: string }>();
  readonly violations: Violation[] = [];
  /** What was met, and how often: faults, conflicts, ways of recovery. */
  readonly met = new Map<string, number>();
  readonly trace: TraceLine[] | null;
  readonly #now: () => number;
  #open = 0;

  constructor(now: () => number, options: { readonly traced: boolean; readonly codeChanges: boolean }) {
    this.#now = now;
    this.trace = options.traced ? [] : null;
    this.codeChanges = options.codeChanges;
  }

  /** Runs that have neither ended nor been deleted. */
  get open(): number {
    return this.#open;
  }

  violate(invariant: string, message: string): void {
    this.violations.push({ invariant, message });
    this.say("!!", `${invariant} ${message}`);
  }

  meet(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
  }

  say(who: string, what: string): void {
    this.trace?.push({ at: this.#now(), who, what });
  }

  /** The storage has applied a batch. */
  applied(process: string, request: AppendRequest): { run: RunLog; batch: AppliedBatch } {
    const { locator, position, batch, head } = request;
    const raw = JSON.parse(batch) as { by: string; outside?: boolean; entries: WrittenEntry[] };
    // The id of a run that was deleted may be used again: that is another run.
    const known = position === 0 ? undefined : this.latest(locator);
    const run = known ?? this.#create(locator, head);
    const applied: AppliedBatch = {
      text: batch,
      by: raw.by,
      outside: raw.outside === true,
      entries: raw.entries,
      process,
      at: this.#now(),
    };
    run.batches.push(applied);
    const wasOpen = isOpen(run);
    for (const { kind } of applied.entries) run.status = statusAfter(run.status, kind);
    if (wasOpen && !isOpen(run)) this.#open -= 1;
    return { run, batch: applied };
  }

  #create(locator: string, head: AppendRequest["head"]): RunLog {
    const { runId, workflow, parent } = head;
    const run: RunLog = {
      runId,
      locator,
      workflow,
      parent,
      batches: [],
      status: "running",
      deleted: false,
      tainted: this.forgotten.has(locator),
    };
    this.runs.push(run);
    this.#byLocator.set(locator, run);
    this.#byId.set(runId, run);
    this.#open += 1;
    return run;
  }

  /** The run that has this locator now. */
  latest(locator: string): RunLog | undefined {
    return this.#byLocator.get(locator);
  }

  run(runId: string): RunLog | undefined {
    return this.#byId.get(runId);
  }

  deleted(run: RunLog): void {
    if (isOpen(run)) this.#open -= 1;
    run.deleted = true;
  }

  /** All entries of a run, as they stand in its journal. */
  entries(run: RunLog): WrittenEntry[] {
    return run.batches.flatMap(({ entries }) => entries);
  }

  /** When the first of the open runs wants to be woken; null when one is not asleep. */
  nextWake(): number | null {
    let next = Number.POSITIVE_INFINITY;
    for (const run of this.runs) {
      if (!isOpen(run)) continue;
      const last = run.batches.at(-1)?.entries.at(-1);
      if (last?.kind !== "run.suspended" || last.wakeAt === null) return null;
      next = Math.min(next, last.wakeAt ?? 0);
    }
    return Number.isFinite(next) ? next : null;
  }

  /** A run and its ancestors, itself first. */
  lineage(run: RunLog): RunLog[] {
    const parent = run.parent === null ? undefined : this.run(run.parent);
    return parent === undefined ? [run] : [run, ...this.lineage(parent)];
  }
}

export function isOpen({ status, deleted }: RunLog): boolean {
  return !deleted && (status === "running" || status === "suspended");
}

/** What a token names, whichever key of the ring signed it. */
export function namedBy(token: string): string {
  return token.slice(1, 29);
}

/** Law 2 in four lines: an end is final, a park is a park, all else means that somebody must drive. */
function statusAfter(status: RunLog["status"], kind: string): RunLog["status"] {
  if (status !== "running" && status !== "suspended") return status;
  if (isEnd(kind)) return kind.slice("run.".length) as RunLog["status"];
  return kind === "run.suspended" ? "suspended" : "running";
}
