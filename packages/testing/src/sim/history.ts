/**
 * What happened in one simulation, as an onlooker sees it who trusts nobody: batches as they were applied,
 * bodies as they started, what workflow code was given, what callers from outside were told.
 */

import type { AppendRequest } from "@durable/core";
import type { ReplayPass } from "./replay-pass.ts";
import {
  createdAt,
  isOpen,
  statusAfter,
  wakeOf,
  type AppliedBatch,
  type RunLog,
  type WrittenEntry,
} from "./run-log.ts";
import { Blobs, mayBeWrapped } from "./stored-values.ts";

export interface Body {
  readonly run: RunLog | undefined;
  readonly key: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly process: string;
  readonly at: number;
  /** What it returned; absent while it runs and when it failed. */
  value?: unknown;
  /** What a stream has given so far, and whether it ended well. */
  chunks?: unknown[];
  ended?: boolean;
  /** False for the work of users, whose values have a written form only the library knows. */
  readonly comparable: boolean;
}

/** An answer somebody tried to give. */
export interface AnswerAttempt {
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

/** Something done in the world outside, under an idempotency key. */
export interface Effect {
  readonly run: RunLog | undefined;
  readonly idempotencyKey: string;
  readonly value: unknown;
}

/** What somebody found out about an attempt whose end nobody knew. */
export interface Decision {
  readonly run: RunLog | undefined;
  readonly key: string;
  readonly status: string;
  readonly value?: unknown;
  /** As of bodies. */
  readonly comparable: boolean;
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

export interface TraceLine {
  readonly at: number;
  readonly who: string;
  readonly what: string;
}

export interface HistoryOptions {
  readonly traced: boolean;
  readonly codeChanges: boolean;
  /** Nothing that runs record may be read by whoever has the storage. */
  readonly sealed: boolean;
}

export class History {
  readonly runs: RunLog[] = [];
  readonly #byLocator = new Map<string, RunLog>();
  readonly #byId = new Map<string, RunLog>();
  /** Locators of runs whose first batch was acknowledged and not kept. */
  readonly forgotten = new Set<string>();
  /** Another version of the code may be deployed. */
  readonly codeChanges: boolean;
  readonly forks: ForkNote[] = [];
  /** Workflows whose code is watched, and those of them that apps have: others are driven for their parents alone. */
  readonly watched = new Set<string>();
  readonly known = new Set<string>();
  readonly writeIds = new Set<string>();
  /** Runs that their drivers say are blocked, since faults ended. */
  readonly blocked = new Set<string>();
  /** Which run each driver writes to. */
  readonly drivers = new Map<string, RunLog>();
  readonly passes: ReplayPass[] = [];
  /** What was done in the world outside. */
  readonly effects: Effect[] = [];
  /** What functions found out about uncertain attempts. */
  readonly decisions: Decision[] = [];
  /** Streams that workflow code has asked for. */
  readonly streams: { readonly run: RunLog; readonly key: string }[] = [];
  readonly blobs = new Blobs((message) => this.violate("I8", message));
  readonly bodies: Body[] = [];
  readonly answers: AnswerAttempt[] = [];
  /** From what a token names to the wait it answers, as the workflow code that made it says. */
  readonly waits = new Map<string, { readonly runId: string; readonly key: string }>();
  readonly violations: Violation[] = [];
  /** What was met, and how often: faults, conflicts, ways of recovery. */
  readonly met = new Map<string, number>();
  readonly trace: TraceLine[] | null;
  readonly #now: () => number;
  readonly #sealed: boolean;
  #open = 0;

  constructor(now: () => number, options: HistoryOptions) {
    this.#now = now;
    this.#sealed = options.sealed;
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
    const { locator, position, batch, head, blobs = [] } = request;
    const raw = JSON.parse(batch) as { by: string; outside?: boolean; entries: WrittenEntry[] };
    if (
      this.#sealed &&
      [batch, ...blobs.map(({ body }) => body)].some((text) => /(nonce|said|mark) \d/.test(text ?? ""))
    )
      this.violate("I8", `run ${head.runId}: what should be sealed stands there in clear`);
    this.blobs.learn(blobs);
    // The id of a run that was deleted may be used again: that is another run.
    const known = position === 0 ? undefined : this.latest(locator);
    const before = this.latest(locator);
    const run = known ?? this.#create(locator, head, raw.entries[0]);
    // Begun at the same moment as the run of this id that was deleted: whoever drove that one cannot tell them apart.
    if (known === undefined && before !== undefined && createdAt(before) === raw.entries[0]?.at)
      run.tainted = true;
    const again = blobs.find(({ name }) => run.parts.names.has(name));
    if (again !== undefined && !run.tainted)
      this.violate("I8", `run ${run.runId} names blob ${again.name} a second time`);
    for (const { name } of blobs) run.parts.names.add(name);
    const entries = mayBeWrapped(batch) ? this.blobs.whole(raw.entries, head.runId, run.parts) : raw.entries;
    const applied: AppliedBatch = {
      text: batch,
      by: raw.by,
      outside: raw.outside === true,
      entries,
      process,
      at: this.#now(),
    };
    run.batches.push(applied);
    const wasOpen = isOpen(run);
    for (const { kind } of applied.entries) run.status = statusAfter(run.status, kind);
    if (wasOpen && !isOpen(run)) this.#open -= 1;
    return { run, batch: applied };
  }

  #create(locator: string, head: AppendRequest["head"], first: WrittenEntry | undefined): RunLog {
    const { runId, workflow } = head;
    const parent = first?.kind === "run.forked" ? head.parent : null;
    const childOf = first?.childOf ?? null;
    const run: RunLog = {
      runId,
      locator,
      workflow,
      parent,
      parentLog: parent === null ? undefined : this.run(parent),
      childOf,
      above: childOf === null ? undefined : this.run(childOf.runId),
      family: childOf !== null,
      parts: { names: new Set(), places: new Set() },
      batches: [],
      status: "running",
      deleted: false,
      tainted: this.forgotten.has(locator),
    };
    this.runs.push(run);
    this.#byLocator.set(locator, run);
    this.#byId.set(runId, run);
    if (isOpen(run)) this.#open += 1;
    return run;
  }

  /** The run that has this locator now. */
  latest(locator: string): RunLog | undefined {
    return this.#byLocator.get(locator);
  }

  run(runId: string): RunLog | undefined {
    return this.#byId.get(runId);
  }

  /** Of several runs that had this id, the one that was born then. */
  runCreatedAt(runId: string, at: number): RunLog | undefined {
    return this.runs.findLast((run) => run.runId === runId && createdAt(run) === at) ?? this.run(runId);
  }

  deleted(run: RunLog): void {
    if (isOpen(run)) this.#open -= 1;
    run.deleted = true;
  }

  /** All entries of a run, as they stand in its journal. */
  entries(run: RunLog): WrittenEntry[] {
    return run.batches.flatMap(({ entries }) => entries);
  }

  /** When the first of the open runs that anybody may take up wants to be woken; null when one is not asleep. */
  nextWake(): number | null {
    let next = Number.POSITIVE_INFINITY;
    for (const run of this.runs) {
      if (!isOpen(run) || !this.known.has(run.workflow)) continue;
      const last = run.batches.at(-1)?.entries.at(-1);
      const wake = last?.kind === "run.suspended" ? wakeOf(last) : null;
      if (wake === null) return null;
      next = Math.min(next, wake);
    }
    return Number.isFinite(next) ? next : null;
  }

  /** A run and its ancestors, itself first. */
  lineage(run: RunLog): RunLog[] {
    return run.parentLog === undefined ? [run] : [run, ...this.lineage(run.parentLog)];
  }
}
