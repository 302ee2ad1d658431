/**
 * What happened in one simulation, recorded without the engine's help: the batches as they were applied, the
 * bodies that started, what workflow code got, and what callers got as replies. Proven by the planted bugs of
 * `npm run sim:mutants`.
 */

import { Marks } from "./marks.ts";
import type { AppendRequest } from "@durable/core/storage";
import { Steadiness, type Bounds } from "./steadiness.ts";
import { LeaseNotes } from "./lease-notes.ts";
import type { AnswerAttempt, Decision, Effect, ForkNote, NotedWait } from "./notes.ts";
import type { QueuedStart } from "./plan.ts";
import type { ReplayPass } from "./replay-pass.ts";
import type { SentMessage } from "./sent-message.ts";
import { chapterIn } from "./chapter-inputs.ts";
import {
  areOneStart,
  chaptersOf,
  createdAt,
  isOpen,
  statusAfter,
  topOf,
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
  /** Its process had the lease of the run when it started, by the storage's clock. */
  readonly leased: boolean;
  /** What the body returned; absent while it runs and when it failed. */
  value?: unknown;
  /** The chunks of a stream so far, and whether it ended without an error. */
  chunks?: unknown[];
  ended?: boolean;
  /** False for users' workflows, because only the library knows the stored form of their values. */
  readonly comparable: boolean;
}

/** An invariant that was broken. */
export interface Violation {
  readonly invariant: string;
  readonly message: string;
}

/** One event of a simulation. */
export interface TraceLine {
  readonly at: number;
  readonly who: string;
  readonly what: string;
}

export interface HistoryOptions {
  readonly traced: boolean;
  readonly codeChanges: boolean;
  readonly clocksMove: boolean;
  readonly foreign: boolean;
  readonly bounds: Bounds;
  /** Records are encrypted, so the storage must hold no readable value. */
  readonly sealed: boolean;
}

export class History {
  readonly runs: RunLog[] = [];
  readonly #byLocator = new Map<string, RunLog>();
  readonly #byId = new Map<string, RunLog>();
  readonly marks = new Marks();
  /** Locators of runs whose first batch was acknowledged and not kept. */
  readonly forgotten = new Set<string>();
  /** Another version of the code may be deployed. */
  readonly codeChanges: boolean;
  /** The clock of a process may be changed while it runs. */
  readonly clocksMove: boolean;
  /** Workflows await timers of their own, so the order of what a pass gets may differ. */
  readonly foreign: boolean;
  readonly forks: ForkNote[] = [];
  /**
   * Workflows whose code is observed, and those among them that apps have. The others run only for their
   * parents.
   */
  readonly observed = new Set<string>();
  readonly known = new Set<string>();
  readonly writeIds = new Set<string>();
  /** Runs whose code has left a rejection behind. */
  readonly strayed = new Set<string>();
  /** How often an operator has advanced a run that was blocked while it waited for an answer. */
  readonly readvanced = new Map<string, number>();
  /** Runs that their drivers report as blocked since faults ended. */
  readonly blocked = new Set<string>();
  /** Lives of processes that are over. */
  readonly dead = new Set<string>();
  readonly leases: LeaseNotes;
  readonly steady: Steadiness;
  /** The run that each driver writes to. */
  readonly drivers = new Map<string, RunLog>();
  readonly passes: ReplayPass[] = [];
  /** Effects on the outside world. */
  readonly effects: Effect[] = [];
  /** How functions resolved uncertain attempts. */
  readonly decisions: Decision[] = [];
  /** Streams that workflow code has started. */
  readonly streams: { readonly run: RunLog; readonly key: string }[] = [];
  readonly blobs = new Blobs((message) => this.violate("I8", message));
  readonly bodies: Body[] = [];
  readonly answers: AnswerAttempt[] = [];
  readonly sends: SentMessage[] = [];
  /** Starts of runs of the queue that were acknowledged, and with which run. */
  readonly queued: { readonly start: QueuedStart; readonly runId: string }[] = [];
  /** Steps before which the code logs, and whether that was written. */
  readonly lines = new Map<string, boolean>();
  /** Attempts under a limit that are under way, and how long their permits last, if their process does not move them on. */
  readonly permitted = new Set<{
    readonly process: string;
    readonly since: number;
    readonly until: number;
  }>();
  /**
   * From the locator part of a token to the wait it answers, as reported by the workflow code that made it.
   */
  readonly waits = new Map<string, NotedWait>();
  readonly violations: Violation[] = [];
  /** The events that were met, and how often: faults, conflicts, ways of recovery. */
  readonly met = new Map<string, number>();
  readonly trace: TraceLine[] | null;
  readonly #now: () => number;
  readonly #sealed: boolean;
  #open = 0;

  constructor(now: () => number, options: HistoryOptions) {
    this.#now = now;
    this.leases = new LeaseNotes(now);
    this.steady = new Steadiness(now, options.bounds);
    this.#sealed = options.sealed;
    this.trace = options.traced ? [] : null;
    this.codeChanges = options.codeChanges;
    this.clocksMove = options.clocksMove;
    this.foreign = options.foreign;
  }

  get now(): number {
    return this.#now();
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

  /** Records a batch that the storage has applied. */
  applied(process: string, request: AppendRequest): { run: RunLog; batch: AppliedBatch } {
    const { locator, position, batch, head, blobs = [] } = request;
    const raw = JSON.parse(batch) as { by: string; outside?: boolean; entries: WrittenEntry[] };
    if (
      this.#sealed &&
      [batch, ...blobs.map(({ body }) => body)].some((text) => /(nonce|said|mark|given) \d/.test(text ?? ""))
    )
      this.violate("I8", `run ${head.runId}: a value that should be encrypted is readable`);
    this.blobs.learn(blobs);
    const before = this.latest(locator);
    const [first] = raw.entries;
    const continues = position > 0 && first?.kind === "run.continued";
    // A new run may have the id of a deleted one.
    const known = position === 0 || continues ? undefined : before;
    const run = known ?? this.#create(head, first, { position, earlier: continues ? before : undefined });
    // It began in the same millisecond as the deleted run of this id, so drivers of that run cannot
    // distinguish them.
    if (
      position === 0 &&
      before !== undefined &&
      chaptersOf(before).some((log) => createdAt(log) === first?.at)
    )
      run.tainted = true;
    const again = blobs.find(({ name }) => run.parts.names.has(name));
    if (again !== undefined && !run.tainted)
      this.violate("I8", `run ${run.runId} names blob ${again.name} twice`);
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
    if (known === undefined) this.#number(run);
    const wasOpen = isOpen(run);
    for (const entry of applied.entries) run.status = statusAfter(run.status, entry, () => this.entries(run));
    if (wasOpen && !isOpen(run)) this.#open -= 1;
    if (!wasOpen && isOpen(run)) this.#open += 1;
    return { run, batch: applied };
  }

  #create(
    head: AppendRequest["head"],
    first: WrittenEntry | undefined,
    { position, earlier }: { readonly position: number; readonly earlier: RunLog | undefined },
  ): RunLog {
    const { locator, runId, workflow } = head;
    const parent = first?.kind === "run.forked" ? head.parent : null;
    const parentLog = parent === null ? undefined : this.#readBy(parent, first);
    const childOf = first?.childOf ?? null;
    const run: RunLog = {
      runId,
      chapter: (earlier?.chapter ?? 0) + 1,
      earlier,
      offset: position,
      part: 1,
      continuedAt: Number.POSITIVE_INFINITY,
      dropped: false,
      locator,
      workflow,
      parent: earlier?.parent ?? parent,
      parentLog,
      childOf,
      spawnedBy: first?.spawnedBy ?? null,
      above: childOf === null ? undefined : (earlier?.above ?? this.run(childOf.runId)),
      family: childOf !== null || first?.spawnedBy !== undefined,
      parts: { names: new Set(), places: earlier?.parts.places ?? new Set() },
      batches: [],
      status: "running",
      deleted: false,
      deletedAt: Number.POSITIVE_INFINITY,
      // The batches that a fork reads may be gone before the fork lands.
      tainted: this.forgotten.has(locator) || earlier?.tainted === true || parentLog?.deleted === true,
    };
    if (earlier !== undefined) this.#continued(earlier);
    this.runs.push(run);
    this.#byLocator.set(locator, run);
    this.#byId.set(runId, run);
    if (isOpen(run)) this.#open += 1;
    return run;
  }

  /** The chapter of its parent that a fork reads. */
  #readBy(parent: string, forked: WrittenEntry | undefined): RunLog | undefined {
    const current = this.run(parent);
    const { from = 0, nonce } = forked?.ancestry?.find(({ runId }) => runId === parent) ?? {};
    // The id of the parent may have been used again before the fork landed.
    const named = this.runs.find(
      (run) => nonce !== undefined && run.batches[0]?.entries[0]?.nonce === nonce && run.runId === parent,
    );
    return named ?? (current && chaptersOf(current).find(({ offset }) => offset === from));
  }

  #continued(run: RunLog): void {
    if (isOpen(run)) this.#open -= 1;
    run.status = "continued";
    run.continuedAt = this.#now();
  }

  /** Chapters that begin in one millisecond are distinguished by the number in their input, if it has one. */
  #number(run: RunLog): void {
    const { earlier, parentLog, batches } = run;
    const input = batches[0]?.entries[0]?.input;
    run.part = input === undefined ? (parentLog?.part ?? 1) : chapterIn(input).chapter;
    if (earlier !== undefined && earlier.part === run.part && createdAt(earlier) === createdAt(run))
      run.tainted = true;
  }

  /** The current run at this locator. */
  latest(locator: string): RunLog | undefined {
    return this.#byLocator.get(locator);
  }

  run(runId: string): RunLog | undefined {
    return this.#byId.get(runId);
  }

  /** Of several runs with this id and their chapters, the one that began at this time with this input. */
  runBegunAt(runId: string, at: number, input: unknown): RunLog | undefined {
    const { chapter } = chapterIn(input);
    const latest = this.run(runId);
    const begun = (run: RunLog): boolean =>
      run.runId === runId && createdAt(run) === at && run.part === chapter;
    // The first chapter of a fork begins at the time of its parent, which may be that of a deleted fork of this id.
    const isFork = (run: RunLog): boolean => this.entries(run)[0]?.kind === "run.forked";
    return this.runs.findLast((run) => begun(run) && !isFork(run)) ?? (latest && chaptersOf(latest)[0]);
  }

  /** Notes the suspend point that a token answers, by the part of the token that identifies it. */
  noteWait(name: string, wait: NotedWait): void {
    const { run } = this.waits.get(name) ?? wait;
    const both = run !== undefined && wait.run !== undefined && !run.tainted && !wait.run.tainted;
    if (both && run !== wait.run && !areOneStart(run, wait.run))
      this.violate("I6", `two runs with the id ${wait.runId} have the same token for ${wait.key}`);
    this.waits.set(name, wait);
  }

  deleted(run: RunLog): void {
    if (isOpen(run)) this.#open -= 1;
    for (const log of chaptersOf(run)) {
      log.deleted = true;
      log.deletedAt = this.#now();
    }
  }

  /** The storage has removed the chapters of this run before a position. */
  dropped(run: RunLog, before: number): void {
    for (const log of chaptersOf(run)) log.dropped ||= log.offset < before;
  }

  /** All entries of a run, in the order of its journal. */
  entries(run: RunLog): WrittenEntry[] {
    return run.batches.flatMap(({ entries }) => entries);
  }

  /** The earliest wake time among the open runs that apps know; null when one of them is not parked. */
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

  /** The logs that a run has its values from: its own, its earlier chapters, and its ancestors with theirs. */
  sources(run: RunLog): RunLog[] {
    const above = [run.earlier, run.parentLog].filter((log) => log !== undefined);
    return [run, ...above.flatMap((log) => this.sources(log))];
  }

  /** True for a fork, and for what a fork spawns or has as a child: all are driven where the fork was made. */
  isOfFork(run: RunLog): boolean {
    const { parent, spawnedBy } = topOf(run);
    const by = spawnedBy === null ? undefined : this.run(spawnedBy.runId);
    return parent !== null || (by !== undefined && this.isOfFork(by));
  }

  /** A run and its ancestors, itself first. */
  lineage(run: RunLog): RunLog[] {
    return run.parentLog === undefined ? [run] : [run, ...this.lineage(run.parentLog)];
  }
}
