/**
 * The same operations on MemoryStorage and on SqliteStorage, compared reply by reply, and all that is left at the end.
 * Where they differ, the list of operations is shortened until every one of them is needed.
 */

import { rmSync } from "node:fs";
import { DurableError, MemoryStorage } from "../../../../src/index.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import type {
  AppendRequest,
  BlockedNote,
  ListPage,
  ListQuery,
  RunHead,
  Storage,
} from "../../../../src/ports/storage.ts";
import { randomOps, startOfTime, type AppendOp, type Op, type WriteOp } from "./ops.ts";
import { headOf } from "./samples.ts";
import { memoryFolder, tempFolder } from "../../../support/sqlite-temp.ts";

export interface TraceReport {
  readonly traces: number;
  readonly operations: number;
}

export interface TraceOptions {
  readonly traces: number;
  readonly seed: number;
  readonly progress?: (report: TraceReport) => void;
}

export type OpenStorage = (now: () => number) => Storage | Promise<Storage>;

const opsPerTrace = 60;

/** Throws with the seed and the shortest list when the storages differ. */
export async function compareTraces({ traces, seed, progress }: TraceOptions): Promise<TraceReport> {
  const temp = tempFolder(memoryFolder);
  const open: OpenStorage = (now) => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${temp.path}${suffix}`, { force: true });
    return new SqliteStorage({ path: temp.path, now });
  };
  const report = { traces: 0, operations: 0 };
  try {
    while (report.traces < traces) {
      const ops = randomOps(seed + report.traces, opsPerTrace);
      const found = await findDifference(ops, open);
      if (found !== null) throw new Error(`Trace of seed ${seed + report.traces}: ${found}`);
      report.traces += 1;
      report.operations += ops.length;
      progress?.({ ...report });
    }
    return report;
  } finally {
    temp.remove();
  }
}

/** Null when the storages agree; else the shortest list found on which they do not, in words. */
export async function findDifference(ops: readonly Op[], open: OpenStorage): Promise<string | null> {
  if ((await replay(ops, open)) === null) return null;
  const shortest = await shorten(ops, async (fewer) => (await replay(fewer, open)) !== null);
  const lines = shortest.map((op) => `  ${JSON.stringify(op)}`);
  return [`${await replay(shortest, open)}, after`, ...lines].join("\n");
}

/** Leaves out as much as can be left out: halves first, then smaller parts, down to single operations. */
export async function shorten<T>(
  ops: readonly T[],
  fails: (fewer: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  let left = [...ops];
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < left.length;) {
      const fewer = left.toSpliced(at, size);
      if (await fails(fewer)) left = fewer;
      else at += size;
    }
  }
  return left;
}

/** What differed first, or null. */
export async function replay(ops: readonly Op[], open: OpenStorage): Promise<string | null> {
  const clock = { now: startOfTime };
  const reference = new MemoryStorage({ now: () => clock.now });
  const subject = await open(() => clock.now);
  const pair = new Pair(reference, subject);
  try {
    for (const op of ops) {
      if (op.op === "clock") clock.now += op.ms;
      const difference = await pair.compare(op);
      if (difference !== null) return difference;
    }
    return await pair.compareAll();
  } finally {
    await subject.close?.();
  }
}

class Pair {
  readonly #storages: readonly [Storage, Storage];
  /** What runs were created with: it does not change later. */
  readonly #about = new Map<string, AppendOp["about"]>();
  readonly #cursors = new Map<string, readonly (string | null)[]>();

  constructor(reference: Storage, subject: Storage) {
    this.#storages = [reference, subject];
  }

  async compare(op: Op): Promise<string | null> {
    switch (op.op) {
      case "clock":
        return null;
      case "read":
        return this.#both(op.op, (storage) => storage.read(op.run, op.from));
      case "chapter":
        return this.#both(op.op, async (storage) => storage.readChapter?.(op.run));
      case "list":
        return this.#list(op.query, op.page);
      case "together":
        return this.#write(op.writes);
      default:
        return this.#write([op]);
    }
  }

  /** All that is left: every list in pages of two, and every journal. */
  async compareAll(): Promise<string | null> {
    const [limit, most] = [2, Number.MAX_SAFE_INTEGER];
    for (const query of [{ limit }, { limit, dueAt: most }, { limit, endedBefore: most }]) {
      for (let page = false, more = true; more; page = true) {
        const difference = await this.#list(query, page);
        if (difference !== null) return difference;
        more = (this.#cursors.get(orderOf(query))?.[0] ?? null) !== null;
      }
    }
    for (const run of this.#about.keys()) {
      const difference = await this.#both("read", (storage) => storage.read(run));
      if (difference !== null) return difference;
    }
    return null;
  }

  async #both(
    what: string,
    ask: (storage: Storage, index: number) => Promise<unknown>,
  ): Promise<string | null> {
    const [expected, found] = await Promise.all(this.#storages.map((storage, n) => reply(ask(storage, n))));
    return expected === found ? null : `${what} gave ${found}, expected ${expected}`;
  }

  /** Cursors are each storage's own business; that there is one is not. */
  async #list(query: ListQuery, page: boolean): Promise<string | null> {
    const order = orderOf(query);
    const cursors = page ? (this.#cursors.get(order) ?? []) : [];
    const next: (string | null)[] = [null, null];
    const difference = await this.#both(`list ${JSON.stringify(query)}`, async (storage, n) => {
      const cursor = cursors[n] ?? null;
      const given: ListPage = await storage.list({ ...query, ...(cursor === null ? {} : { cursor }) });
      next[n] = given.next;
      return { ...given, next: given.next !== null };
    });
    this.#cursors.set(order, next);
    return difference;
  }

  async #write(writes: readonly WriteOp[]): Promise<string | null> {
    const lengths = new Map<string, number>();
    const chapters = new Map<string, number>();
    const heads = new Map<string, RunHead>();
    for (const { run } of writes) {
      const { head } = await this.#storages[0].read(run);
      if (head !== undefined) heads.set(run, head);
      const { length, from = 0 } = (await this.#storages[0].readChapter?.(run)) ?? { length: 0 };
      lengths.set(run, length);
      chapters.set(run, from);
    }
    const requests = writes.map((write) => {
      const length = lengths.get(write.run) ?? 0;
      if (write.op === "note") return { ...noteOf(write.message), length: length + write.off };
      if (write.op === "purge") {
        const head = heads.get(write.run) ?? headOf(write.run);
        return { ...head, updatedAt: head.updatedAt + write.off };
      }
      if (write.op !== "append") return null;
      const position = Math.max(0, length + write.off);
      if (length === 0 && position === 0) this.#about.set(write.run, write.about);
      // Those that are under way together follow one another.
      if (position === length) lengths.set(write.run, length + 1);
      if (position === length && write.begins && position > 0) chapters.set(write.run, position);
      return this.#request(write, position, chapters.get(write.run) ?? 0);
    });
    const what = writes.map(({ op }) => op).join("+");
    return this.#both(what, (storage) =>
      Promise.all(writes.map((write, n) => reply(perform(storage, write, requests[n] ?? null)))),
    );
  }

  #request({ run, state, about, lease, stale }: AppendOp, position: number, chapter: number): AppendRequest {
    const { parents, from, ...rest } = this.#about.get(run) ?? about;
    const ancestors = parents.filter((parent) => parent !== run);
    const createdAt = rest.createdAt - (stale && position > 0 ? 1 : 0);
    const head = headOf(run, {
      ...rest,
      ...state,
      createdAt,
      parent: ancestors[0] ?? null,
      ancestors,
      ...(from !== undefined && { readsFrom: ancestors.map((_, n) => from + n) }),
      ...(chapter > 0 && { chapter }),
    });
    const request = { locator: run, position, batch: `${run} ${position} ${state.updatedAt}`, head };
    return lease === undefined ? request : { ...request, lease };
  }
}

function orderOf({ dueAt, endedBefore }: ListQuery): string {
  if (dueAt !== undefined) return "due";
  return endedBefore === undefined ? "newest" : "ended";
}

function noteOf(message: string): Omit<BlockedNote, "length"> {
  return { code: "diverged", message, since: startOfTime + 0.5 };
}

async function perform(
  storage: Storage,
  write: WriteOp,
  request: AppendRequest | BlockedNote | RunHead | null,
): Promise<unknown> {
  switch (write.op) {
    case "append":
      return storage.append(request as AppendRequest);
    case "lease":
      return storage.lease(write.run, write.owner, write.ttlMs);
    case "release":
      return storage.release(write.run, write.owner, write.quietMs);
    case "note":
      return storage.note?.(write.run, request as BlockedNote);
    case "drop":
      return storage.dropChapters?.(write.run, write.before);
    case "purge":
      return storage.deleteUnchanged?.([request as RunHead]);
    case "delete":
      return storage.delete(write.run);
  }
}

/** What a call gave, as a text that can be compared: the order of fields does not count. */
async function reply(call: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await call, sorted) ?? "nothing";
  } catch (error) {
    return DurableError.is(error)
      ? `error ${error.code} ${JSON.stringify(error.details)}`
      : `unnamed error ${String(error)}`;
  }
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
