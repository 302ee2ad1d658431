/**
 * Journals in this process's memory, for tests and demos. It is also the reference that other storages are compared with.
 *
 * memory.1. Every method does its work synchronously, in one turn, so a refused call has changed nothing.
 * memory.2. A deleted run is kept, hidden, while `#readers` counts forks that read it. It goes with the last of them.
 * memory.3. A blob is kept exactly as long as a stored run names it.
 */

import type {
  AppendRequest,
  Lease,
  ListPage,
  ListQuery,
  NamedBlob,
  ReadReply,
  RunHead,
  Storage,
} from "../ports/storage.ts";
import { conflict, isOfWorkflow, pageSize, readCursor, refuseBlobs } from "../ports/storage-kit.ts";

interface KeptBlob {
  readonly body: string;
  /** How many runs name this blob. */
  runs: number;
}

interface Kept {
  head: RunHead;
  readonly batches: string[];
  /** The blobs that this run names, each with the position of the first batch that did. */
  readonly named: Map<string, { readonly blob: KeptBlob; readonly position: number }>;
  /** Order of creation: lists are sorted by it. */
  readonly order: number;
  lease: { owner: string; until: number } | null;
  /** Leases taken when the journal had `startsAt` batches. */
  starts: number;
  startsAt: number;
  quietUntil: number;
  deleted: boolean;
}

/** Keeps journals in memory: for tests and demos. */
export class MemoryStorage implements Storage {
  readonly #runs = new Map<string, Kept>();
  readonly #readers = new Map<string, number>();
  readonly #blobs = new Map<string, KeptBlob>();
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #now: () => number;
  #order = 0;

  /** `now` is the clock of leases; the system's by default. */
  constructor(options: { readonly now?: (() => number) | undefined } = {}) {
    this.#now = options.now ?? Date.now;
  }

  append({ locator, position, batch, blobs = [], head, lease }: AppendRequest): Promise<void> {
    const kept = this.#runs.get(locator);
    // The request is for an earlier run of this id, or for a new fork whose ancestor was deleted.
    const gone =
      kept === undefined
        ? head.ancestors.some((ancestor) => !this.#runs.has(ancestor))
        : kept.deleted || (position > 0 && kept.head.createdAt !== head.createdAt);
    if (gone || (kept?.batches.length ?? 0) !== position)
      return Promise.reject(conflict(head.runId, position, gone));
    const refusal = refuseBlobs(head.runId, blobs, (name) => this.#blobs.has(name));
    if (refusal !== null) return Promise.reject(refusal);
    const run = kept ?? this.#create(locator, head);
    run.batches.push(batch);
    this.#name(run, position, blobs);
    run.head = head;
    run.quietUntil = 0;
    if (lease !== undefined)
      run.lease = lease === null ? null : { owner: lease.owner, until: this.#now() + lease.ttlMs };
    for (const notify of this.#watchers.get(locator) ?? []) notify();
    return Promise.resolve();
  }

  #create(locator: string, head: RunHead): Kept {
    const run: Kept = {
      head,
      batches: [],
      named: new Map(),
      order: ++this.#order,
      lease: null,
      starts: 0,
      startsAt: 0,
      quietUntil: 0,
      deleted: false,
    };
    this.#runs.set(locator, run);
    for (const ancestor of head.ancestors) this.#read(ancestor, 1);
    return run;
  }

  /** Stores all bodies first, because a name without a body may come before the same name with its body. */
  #name({ named }: Kept, position: number, blobs: readonly NamedBlob[]): void {
    for (const { name, body } of blobs)
      if (body !== undefined && !this.#blobs.has(name)) this.#blobs.set(name, { body, runs: 0 });
    for (const { name } of blobs) {
      const blob = this.#blobs.get(name);
      if (blob === undefined || named.has(name)) continue;
      named.set(name, { blob, position });
      blob.runs += 1;
    }
  }

  read(locator: string, from = 0): Promise<ReadReply> {
    const run = this.#runs.get(locator);
    if (run === undefined) return Promise.resolve({ batches: [], length: 0, deleted: false });
    const { batches, named, deleted } = run;
    const reply = { batches: batches.slice(from), length: batches.length, deleted };
    const blobs = [...named].filter(([, { position }]) => position >= from);
    if (blobs.length === 0) return Promise.resolve(reply);
    const bodies = blobs.map(([name, { blob }]) => [name, blob.body] as const);
    return Promise.resolve({ ...reply, blobs: Object.fromEntries(bodies) });
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    const { workflow, status, parent, dueAt } = query;
    const due = dueAt !== undefined;
    const found = [...this.#runs.values()]
      .filter(({ head, deleted }) => !deleted && isOfWorkflow(head.workflow, workflow))
      .filter(({ head }) => status === undefined || head.status === status)
      .filter(({ head }) => parent === undefined || head.parent === parent)
      .filter((run) => !due || this.#isDue(run, dueAt))
      .toSorted((a, b) => (due ? wakeAt(a) - wakeAt(b) || a.order - b.order : b.order - a.order));
    return page(found, query);
  }

  #isDue({ head, lease, quietUntil }: Kept, dueAt: number): boolean {
    const now = this.#now();
    if (head.wakeAt === null || head.wakeAt > dueAt || quietUntil > now) return false;
    return lease === null || lease.until <= now;
  }

  lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
    const run = this.#runs.get(locator);
    const now = this.#now();
    if (run === undefined || run.deleted) return Promise.resolve(null);
    if (run.lease !== null && run.lease.owner !== owner && run.lease.until > now)
      return Promise.resolve(null);
    const length = run.batches.length;
    if (run.startsAt !== length) run.starts = 0;
    if (run.lease?.owner !== owner) run.starts += 1;
    run.startsAt = length;
    run.lease = { owner, until: now + ttlMs };
    return Promise.resolve({ starts: Math.max(run.starts, 1), length });
  }

  release(locator: string, owner: string, quietMs = 0): Promise<void> {
    const run = this.#runs.get(locator);
    if (run?.lease?.owner === owner) {
      run.lease = null;
      run.starts = 0;
      run.quietUntil = this.#now() + quietMs;
    }
    return Promise.resolve();
  }

  delete(locator: string): Promise<void> {
    const hidden = this.#runs.get(locator);
    if (hidden !== undefined) hidden.deleted = true;
    const candidates = [locator];
    for (const candidate of candidates) {
      const run = this.#runs.get(candidate);
      if (run?.deleted !== true || this.#readers.has(candidate)) continue;
      this.#runs.delete(candidate);
      for (const [name, { blob }] of run.named) if (--blob.runs === 0) this.#blobs.delete(name);
      for (const ancestor of run.head.ancestors) this.#read(ancestor, -1);
      candidates.push(...run.head.ancestors);
    }
    return Promise.resolve();
  }

  /** Adds or removes one reader of an ancestor. */
  #read(ancestor: string, by: 1 | -1): void {
    const readers = (this.#readers.get(ancestor) ?? 0) + by;
    if (readers === 0) this.#readers.delete(ancestor);
    else this.#readers.set(ancestor, readers);
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isLonger = (): boolean => (this.#runs.get(locator)?.batches.length ?? 0) > length;
      if (signal.aborted || isLonger()) return resolve();
      const watchers = this.#watchers.get(locator) ?? new Set();
      this.#watchers.set(locator, watchers);
      const done = (): void => {
        watchers.delete(notify);
        if (watchers.size === 0) this.#watchers.delete(locator);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const notify = (): void => {
        if (isLonger()) done();
      };
      watchers.add(notify);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

function wakeAt({ head }: Kept): number {
  return head.wakeAt ?? 0;
}

/** The runs after the cursor. A cursor is a position in the order, so it stays valid when the run it names is deleted. */
function page(found: readonly Kept[], { dueAt, cursor, limit }: ListQuery): ListPage {
  const [at, id] = readCursor(cursor) ?? [];
  const rest = found.filter((run) => {
    if (at === undefined || id === undefined) return true;
    if (dueAt === undefined) return run.order < id;
    return wakeAt(run) > at || (wakeAt(run) === at && run.order > id);
  });
  const runs = rest.slice(0, pageSize(limit));
  const last = runs.length < rest.length ? runs.at(-1) : undefined;
  return {
    runs: runs.map(({ head }) => head),
    next: last === undefined ? null : `${wakeAt(last)}:${last.order}`,
  };
}
