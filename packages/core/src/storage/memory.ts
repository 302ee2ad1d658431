/** Journals in this process's memory: for tests, demos, and as the reference every other storage is compared with. */

import { DurableError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { AppendRequest, Lease, ListPage, ListQuery, RunHead, Storage } from "../storage.ts";

interface Kept {
  head: RunHead;
  readonly batches: string[];
  /** Order of creation, for lists. */
  readonly order: number;
  lease: { owner: string; until: number } | null;
  starts: number;
  startsAt: number;
  quietUntil: number;
  deleted: boolean;
}

export class MemoryStorage implements Storage {
  readonly #runs = new Map<string, Kept>();
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #now: () => number;
  #order = 0;

  /** `now` is the clock of leases; the system's by default. */
  constructor(options: { readonly now?: () => number } = {}) {
    this.#now = options.now ?? Date.now;
  }

  append({ locator, position, batch, head, lease }: AppendRequest): Promise<void> {
    const kept = this.#runs.get(locator);
    if (kept?.deleted === true || (kept?.batches.length ?? 0) !== position)
      return Promise.reject(conflict(head.runId, position));
    const run = kept ?? {
      head,
      batches: [],
      order: ++this.#order,
      lease: null,
      starts: 0,
      startsAt: 0,
      quietUntil: 0,
      deleted: false,
    };
    this.#runs.set(locator, run);
    run.batches.push(batch);
    run.head = head;
    run.quietUntil = 0;
    if (lease !== undefined)
      run.lease = lease === null ? null : { owner: lease.owner, until: this.#now() + lease.ttlMs };
    for (const tell of this.#watchers.get(locator) ?? []) tell();
    return Promise.resolve();
  }

  read(locator: string, from = 0): Promise<{ batches: readonly string[]; length: number }> {
    const batches = this.#runs.get(locator)?.batches ?? [];
    return Promise.resolve({ batches: batches.slice(from), length: batches.length });
  }

  list(query: ListQuery = {}): Promise<ListPage> {
    const { workflow, status, parent, dueAt, limit = 100, cursor } = query;
    const found = [...this.#runs.values()]
      .filter((run) => !run.deleted && (workflow === undefined || run.head.workflow === workflow))
      .filter(
        ({ head }) =>
          (status === undefined || head.status === status) &&
          (parent === undefined || head.parent === parent),
      )
      .filter((run) => dueAt === undefined || this.#isDue(run, dueAt))
      .sort((a, b) =>
        dueAt === undefined
          ? b.order - a.order
          : (a.head.wakeAt ?? 0) - (b.head.wakeAt ?? 0) || a.order - b.order,
      );
    const start = cursor === undefined ? 0 : found.findIndex(({ head }) => head.locator === cursor) + 1;
    const page = found.slice(start, start + Math.min(limit, limits.listPage)).map(({ head }) => head);
    const more = start + page.length < found.length;
    return Promise.resolve({ runs: page, next: more ? (page.at(-1)?.locator ?? null) : null });
  }

  #isDue({ head, lease, quietUntil }: Kept, dueAt: number): boolean {
    if (head.wakeAt === null || head.wakeAt > dueAt || quietUntil > dueAt) return false;
    return lease === null || lease.until <= this.#now();
  }

  lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
    const run = this.#runs.get(locator);
    const now = this.#now();
    if (run === undefined || run.deleted) return Promise.resolve(null);
    if (run.lease !== null && run.lease.owner !== owner && run.lease.until > now)
      return Promise.resolve(null);
    const length = run.batches.length;
    if (run.lease?.owner !== owner) run.starts = run.startsAt === length ? run.starts + 1 : 1;
    run.startsAt = length;
    run.lease = { owner, until: now + ttlMs };
    return Promise.resolve({ starts: run.starts, length });
  }

  release(locator: string, owner: string, quietMs = 0): Promise<void> {
    const run = this.#runs.get(locator);
    if (run?.lease?.owner === owner) {
      run.lease = null;
      run.quietUntil = this.#now() + quietMs;
    }
    return Promise.resolve();
  }

  delete(locator: string): Promise<void> {
    const run = this.#runs.get(locator);
    if (run !== undefined) run.deleted = true;
    // Whoever is read by nobody goes; that may free its own ancestors.
    for (let found = true; found;) {
      const read = new Set([...this.#runs.values()].flatMap(({ head }) => head.ancestors));
      const gone = [...this.#runs].filter(([key, { deleted }]) => deleted && !read.has(key));
      for (const [key] of gone) this.#runs.delete(key);
      found = gone.length > 0;
    }
    return Promise.resolve();
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || (this.#runs.get(locator)?.batches.length ?? 0) > length) return resolve();
      const watchers = this.#watchers.get(locator) ?? new Set();
      this.#watchers.set(locator, watchers);
      const done = (): void => {
        watchers.delete(done);
        if (watchers.size === 0) this.#watchers.delete(locator);
        signal.removeEventListener("abort", done);
        resolve();
      };
      watchers.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

/** What every storage answers when a journal has moved. */
export function conflict(runId: string, position: number): DurableError {
  return new DurableError(
    "conflict",
    `The journal of run ${runId} does not have ${position} batches any more: somebody else appended first.`,
  );
}
