/**
 * Journals in this process's memory, for tests and demos. It is also the reference that other storages are compared with.
 *
 * memory.1. Every method does its work synchronously, in one turn, so a refused call has changed nothing.
 * memory.2. A deleted run is kept, hidden, while `#readers` has forks that read it. It goes with the last of them.
 * memory.4. A note is kept only while it is valid: an append, a lease and a deletion remove it.
 * memory.5. Only whole chapters are dropped, so a batch that is kept never refers to a blob that was dropped.
 */

import type { DurableError } from "../values/errors.ts";
import { spentOf, sumSpent, type SpentRow } from "../values/usage.ts";
import { DueWatch, type DueRuns } from "../ports/due-watch.ts";
import type { ScheduleStore } from "../ports/schedules.ts";
import type {
  DuringQuery,
  RunDuring,
  AppendRequest,
  BlockedNote,
  ClaimRequest,
  Lease,
  ListPage,
  ListQuery,
  ReadReply,
  RunHead,
  RunTally,
  SlotLimits,
  Storage,
  StorageLimits,
  WorkflowPause,
} from "../ports/storage.ts";
import {
  conflict,
  droppedConflict,
  isUnchanged,
  isFound,
  keepReport,
  noChapter,
  noted,
  readsFrom,
  refuseBlobs,
  singletonConflict,
  stillRead,
} from "../ports/storage-kit.ts";
import { systemWorld, type World } from "../ports/world.ts";
import { MemoryBlobs } from "./memory/blobs.ts";
import { MemoryDue } from "./memory/due.ts";
import { MemorySchedules } from "./memory/schedules.ts";
import {
  dueFrom,
  fits,
  giveBack,
  isHeld,
  isDue,
  lengthOf,
  newlyKept,
  orderOf,
  page,
  takeTurn,
  type Turn,
  type Kept,
  keptDuring,
} from "./memory/kept.ts";
import { Places } from "./memory/places.ts";
import { isFull, isLate, memoryLimits, singletonOf } from "./memory/slots.ts";
import { tallied } from "./memory/tally.ts";
import { Watchers } from "./memory/watchers.ts";

/** Keeps journals in memory: for tests and demos. */
export class MemoryStorage implements Storage {
  readonly schedules: ScheduleStore = new MemorySchedules();
  readonly #runs = new Map<string, Kept>();
  /** Forks, by the run that they read. */
  readonly #readers = new Map<string, Set<string>>();
  readonly #blobs = new MemoryBlobs();
  readonly #watchers = new Watchers();
  readonly #turns = new Map<string, Turn>();
  #spent: readonly SpentRow[] = [];
  readonly #now: () => number;
  readonly #due: DueWatch;
  /**
   * Missing with a clock of your own and no `timer`, because a timer of the system does not know when the
   * time of that clock has come.
   */
  readonly whenDue?: NonNullable<Storage["whenDue"]>;
  readonly finds = true;
  readonly #paused = new Map<string, WorkflowPause>();
  /** Slots of runs, and texts under names. */
  readonly limits: StorageLimits;
  /** What slots.ts needs to know. */
  readonly #slotted = {
    all: () => this.#runs.values(),
    now: () => this.#now(),
  };
  readonly #places = new Places();
  #claims = 0;
  /** Changes that place no run. */
  #others = 0;
  /** The runs that want a driver, in their order. */
  readonly #wanting: MemoryDue;

  /** `now` is the clock of leases and `timer` its timers, for `whenDue`; those of the system by default. */
  constructor(
    options: {
      readonly now?: (() => number) | undefined;
      readonly timer?: World["timer"] | undefined;
    } = {},
  ) {
    const { now, timer = (ms, fire) => systemWorld.timer(ms, fire) } = options;
    this.#now = now ?? Date.now;
    this.#wanting = new MemoryDue(this.#now);
    this.limits = memoryLimits(this.#slotted, () => (this.#others += 1));
    const due = new DueWatch({ now: this.#now, timer, nextDue: (of) => this.#nextDue(of) });
    this.#due = due;
    if (now === undefined || options.timer !== undefined)
      this.whenDue = (workflow, signal, version) => due.whenDue({ workflow, version }, signal);
  }

  append(request: AppendRequest): Promise<void> {
    const { locator, position, batch, blobs = [], head, lease, report } = request;
    const kept = this.#runs.get(locator);
    const refusal = this.#refusalOf(kept, request);
    if (refusal !== null) return Promise.reject(refusal);
    const run = kept ?? this.#create(locator, head);
    run.batches.push(batch);
    if (head.chapter === position && position > 0) run.chapters.push(position);
    this.#blobs.name(run, { position, chapter: head.chapter ?? 0 }, blobs);
    run.head = keepReport(head, report ?? run.head.report);
    run.claimedUntil = 0;
    run.quietUntil = 0;
    run.note = null;
    if (lease !== undefined && !isLate(run, lease, this.#now()))
      run.lease = lease === null ? null : { owner: lease.owner, until: this.#now() + lease.ttlMs };
    this.#wanting.place(run);
    this.#watchers.notify(locator);
    this.#notifyDue(run);
    return Promise.resolve();
  }

  #refusalOf(kept: Kept | undefined, request: AppendRequest): DurableError | null {
    const { position, blobs = [], head, revives } = request;
    const { runId, ancestors } = head;
    // The request is for an earlier run of this id, or for a new fork whose ancestor was deleted.
    const gone =
      kept === undefined
        ? ancestors.some((ancestor) => !this.#runs.has(ancestor))
        : kept.deleted || (position > 0 && kept.head.createdAt !== head.createdAt);
    if (gone || (kept === undefined ? 0 : lengthOf(kept)) !== position)
      return conflict(runId, position, gone);
    const lacks = (ancestor: string): boolean =>
      (this.#runs.get(ancestor)?.first ?? 0) > readsFrom(head, ancestor);
    if (kept === undefined && ancestors.some(lacks)) return droppedConflict(runId);
    const other = kept === undefined || revives ? singletonOf(this.#slotted, head) : null;
    if (other !== null) return singletonConflict(runId, other);
    return refuseBlobs(runId, blobs, (name) => this.#blobs.has(name));
  }

  #create(locator: string, head: RunHead): Kept {
    const run = newlyKept(head, this.#places.take(head.createdAt));
    this.#runs.set(locator, run);
    for (const ancestor of head.ancestors) this.#addReader(ancestor, locator);
    return run;
  }

  read(locator: string, from = 0): Promise<ReadReply> {
    return this.#read(locator, from, Infinity);
  }

  #read(locator: string, from: number, to: number): Promise<ReadReply> {
    const run = this.#runs.get(locator);
    if (run === undefined) return Promise.resolve({ batches: [], length: 0, deleted: false });
    const { batches, first, named, note, deleted } = run;
    const reply = {
      batches: batches.slice(Math.max(0, from - first), to - first),
      length: lengthOf(run),
      deleted,
      ...(!deleted && { head: run.head }),
      ...(from < first && { from: first }),
      ...(note !== null && { blocked: note }),
      driven: isHeld(run, this.#now()),
    };
    const blobs = [...named].filter(([, { positions }]) =>
      positions.some((position) => position >= from && position < to),
    );
    if (blobs.length === 0) return Promise.resolve(reply);
    const bodies = blobs.map(([name, { blob }]) => [name, blob.body] as const);
    return Promise.resolve({ ...reply, blobs: Object.fromEntries(bodies) });
  }

  async readChapter(locator: string, back = 0): Promise<ReadReply & { readonly from: number }> {
    const { first = 0, chapters = [] } = this.#runs.get(locator) ?? {};
    const from = chapters.at(-1 - back) ?? first;
    const to = back === 0 ? Infinity : (chapters.at(-back) ?? first) + 1;
    return { ...(await this.#read(locator, from, to)), from };
  }

  dropChapters(locator: string, before: number): Promise<void> {
    const run = this.#runs.get(locator);
    if (run === undefined || run.deleted || before <= run.first) return Promise.resolve();
    const { runId } = run.head;
    if (!run.chapters.includes(before)) return Promise.reject(noChapter(runId, before));
    const readers = [...(this.#readers.get(locator) ?? [])].flatMap((each) => this.#runs.get(each) ?? []);
    if (readers.some(({ head }) => readsFrom(head, locator) < before))
      return Promise.reject(stillRead(runId, before));
    run.batches = run.batches.slice(before - run.first);
    run.first = before;
    run.chapters = run.chapters.filter((position) => position >= before);
    for (const [name, named] of run.named) {
      named.positions = named.positions.filter((position) => position >= before);
      if (named.positions.length === 0) this.#blobs.unname(run, name);
    }
    return Promise.resolve();
  }

  note(locator: string, note: BlockedNote): Promise<void> {
    const run = this.#runs.get(locator);
    if (run !== undefined && !run.deleted && lengthOf(run) === note.length) run.note = note;
    this.#others += 1;
    return Promise.resolve();
  }

  pause(workflow: string, pause: WorkflowPause | null): Promise<void> {
    this.#others += 1;
    if (pause === null) this.#paused.delete(workflow);
    else this.#paused.set(workflow, pause);
    return Promise.resolve();
  }

  paused(): Promise<readonly WorkflowPause[]> {
    return Promise.resolve([...this.#paused.values()]);
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    const { dueAt } = query;
    const found = [...this.#runs.values()]
      .filter(fits(query))
      .filter((run) => dueAt === undefined || isDue(run, dueAt, this.#now()))
      .toSorted(orderOf(query));
    return page(found, query, this.#now());
  }

  claim(request: ClaimRequest): Promise<readonly RunHead[]> {
    const taken = this.#wanting.claimable(request, this.#claims++);
    for (const run of taken) {
      run.quietUntil = run.claimedUntil = this.#now() + request.quietMs;
      this.#wanting.place(run);
    }
    return Promise.resolve(taken.map(({ head, note }) => noted(head, note)));
  }

  #nextDue({ workflow, version }: DueRuns): number | null {
    let next: number | null = null;
    for (const run of this.#runs.values()) {
      const isOne = !run.deleted && workflow.includes(run.head.workflow) && isFound(run.head, { version });
      const at = isOne ? dueFrom(run) : null;
      if (at !== null && (next === null || at < next)) next = at;
    }
    return next;
  }

  #notifyDue(run: Kept): void {
    const at = this.#due.size === 0 ? null : dueFrom(run);
    if (at !== null) this.#due.notify(run.head, at);
  }

  lease(locator: string, owner: string, ttlMs: number, slots?: SlotLimits): Promise<Lease | null> {
    const run = this.#runs.get(locator);
    const now = this.#now();
    if (run === undefined || run.deleted) return Promise.resolve(null);
    if (run.lease !== null && run.lease.owner !== owner && run.lease.until > now)
      return Promise.resolve(null);
    const length = lengthOf(run);
    const isOwn = run.lease?.owner === owner && run.lease.until > now;
    if (ttlMs > 0 && !isOwn && isFull(this.#wanting, run, slots)) {
      if (run.claimedUntil > 0) run.quietUntil = run.claimedUntil = 0;
      this.#wanting.place(run);
      return Promise.resolve({ starts: 0, length, full: true });
    }
    if (run.startsAt !== length) run.starts = 0;
    run.startsAt = length;
    if (ttlMs <= 0) {
      const given = giveBack(run, owner);
      this.#wanting.place(run);
      this.#notifyDue(run);
      return Promise.resolve(given);
    }
    if (run.lease?.owner !== owner) run.starts += 1;
    const tookOver = run.lease !== null && run.lease.owner !== owner;
    run.lease = { owner, until: now + ttlMs };
    run.claimedUntil = 0;
    this.#wanting.place(run);
    const { starts, note } = run;
    run.note = null;
    const granted = { starts: Math.max(starts, 1), length, ...(tookOver && { tookOver }) };
    return Promise.resolve({ ...granted, ...(note !== null && { blocked: note }) });
  }

  release(locator: string, owner: string, quietMs = 0): Promise<void> {
    const run = this.#runs.get(locator);
    if (run?.lease?.owner === owner) {
      run.lease = null;
      run.starts = 0;
      run.quietUntil = this.#now() + quietMs;
      this.#wanting.place(run);
      this.#notifyDue(run);
    }
    return Promise.resolve();
  }

  deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    const deleted = heads.filter((head) => {
      const run = this.#runs.get(head.locator);
      const isSame = run?.deleted === false && isUnchanged(run.head, head);
      if (isSame) void this.delete(head.locator);
      return isSame;
    });
    return Promise.resolve(deleted.map(({ locator }) => locator));
  }

  spent(): Promise<readonly SpentRow[]> {
    return Promise.resolve(this.#spent);
  }

  during(query: DuringQuery): Promise<readonly RunDuring[]> {
    return Promise.resolve(keptDuring(this.#runs.values(), query));
  }

  takeTurn(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const now = this.#now();
    return Promise.resolve(takeTurn(this.#turns, { name, owner, until: now + ttlMs }, now));
  }

  delete(locator: string): Promise<void> {
    const hidden = this.#runs.get(locator);
    if (hidden?.deleted === false && hidden.head.usage !== undefined)
      this.#spent = sumSpent([...this.#spent, ...spentOf(hidden.head)]);
    if (hidden !== undefined) this.#wanting.place(Object.assign(hidden, { deleted: true, note: null }));
    const candidates = [locator];
    for (const candidate of candidates) {
      const run = this.#runs.get(candidate);
      if (run?.deleted !== true || this.#readers.has(candidate)) continue;
      this.#runs.delete(candidate);
      this.#places.leave(run.order);
      for (const name of run.named.keys()) this.#blobs.unname(run, name);
      for (const ancestor of run.head.ancestors) this.#removeReader(ancestor, candidate);
      candidates.push(...run.head.ancestors);
    }
    return Promise.resolve();
  }

  #addReader(ancestor: string, reader: string): void {
    const readers = this.#readers.get(ancestor) ?? new Set();
    this.#readers.set(ancestor, readers.add(reader));
  }

  #removeReader(ancestor: string, reader: string): void {
    const readers = this.#readers.get(ancestor);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(ancestor);
  }

  revision(): Promise<string> {
    return Promise.resolve(`${this.#wanting.placed} ${this.#others}`);
  }

  tally(dueAt: number): Promise<readonly RunTally[]> {
    return Promise.resolve(tallied(this.#runs.values(), dueAt, this.#now()));
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    const isLonger = (): boolean => {
      const run = this.#runs.get(locator);
      return run !== undefined && lengthOf(run) > length;
    };
    return this.#watchers.changed(locator, isLonger, signal);
  }
}
