/**
 * What one test of the suite works with: a fresh storage, its clock, and helpers that write runs into it.
 * Proven in test/conformance.test.ts.
 */

import type { ListPage, ListQuery, RunHead, Storage } from "@durable/core";
import type { AppendRequest, ScheduleStore, StorageLimits } from "@durable/core/storage";
import { expect } from "vitest";

/** What `open` of an adapter returns to each test. */
export interface ConformanceHandle {
  readonly storage: Storage;
  /**
   * A second handle on the same data, as another process would have. Without it, tests of two handles are
   * skipped.
   */
  reopen?(): Promise<Storage>;
  /** For storages whose lists lag: resolves when they show everything that was appended. */
  settled?(): Promise<void>;
  /** Closes all handles, and removes the data. */
  close(): Promise<void>;
}

/** One test: rejects when the storage breaks the contract. */
export type Check = (subject: Subject) => Promise<void>;
export type Checks = Readonly<Record<string, Check>>;

/** Members of the port that a storage may lack. */
type OptionalMember =
  | "note"
  | "pause"
  | "paused"
  | "readChapter"
  | "dropChapters"
  | "revision"
  | "tally"
  | "changed"
  | "claim"
  | "whenDue"
  | "deleteUnchanged"
  | "takeTurn"
  | "spent"
  | "during"
  | "giveBackSpace"
  | "secret"
  | "close";

type Lease = NonNullable<AppendRequest["lease"]> | null;

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** A locator like core's: 18 base32 characters. */
export function randomLocator(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => alphabet[byte % 32]).join("");
}

/** The head of a run's first append, with changes. */
export function headOf(now: number, changes: Partial<RunHead> = {}): RunHead {
  const locator = changes.locator ?? randomLocator();
  return {
    locator,
    runId: `run-${locator}`,
    workflow: "loan",
    status: "running",
    wakeAt: now,
    dueSince: changes.wakeAt === undefined ? now : changes.wakeAt,
    createdAt: now,
    updatedAt: now,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
    ...changes,
  };
}

export class Subject {
  readonly storage: Storage;
  readonly clock: { now: number };
  readonly #handle: ConformanceHandle;
  readonly #skip: (reason: string) => never;

  constructor(parts: { handle: ConformanceHandle; clock: { now: number }; skip: (reason: string) => never }) {
    this.storage = parts.handle.storage;
    this.clock = parts.clock;
    this.#handle = parts.handle;
    this.#skip = parts.skip;
  }

  /** Another process's view of the same data; skips the test if the adapter has none. */
  second(): Promise<Storage> {
    return this.#handle.reopen?.() ?? this.#skip("this storage has no second handle");
  }

  /** The limits of the storage; skips the test if the adapter has none. */
  get limits(): StorageLimits {
    return this.storage.limits ?? this.#skip("this storage has no limits");
  }

  /** An optional method of the port; skips the test if the adapter lacks it. */
  optional<K extends OptionalMember>(name: K): NonNullable<Storage[K]> {
    const method = this.storage[name];
    if (method === undefined) return this.#skip(`this storage has no ${name}()`);
    return method.bind(this.storage) as NonNullable<Storage[K]>;
  }

  /** Skips the test if the storage does not find runs by tags, versions, times and text. */
  needsFinds(): void {
    if (this.storage.finds !== true) this.#skip("this storage does not find runs by tags");
  }

  /** The schedules of a storage, of this one by default; skips the test if the adapter keeps none. */
  schedules(storage: Storage = this.storage): ScheduleStore {
    return storage.schedules ?? this.#skip("this storage has no schedules");
  }

  /** Resolves when lists show everything that was written. */
  async settled(): Promise<void> {
    await this.#handle.settled?.();
  }

  /** Appends the first batch of a new run. The clock advances by one, so that creation has an order. */
  async create(changes: Partial<RunHead> = {}, lease?: Lease): Promise<RunHead> {
    const head = headOf((this.clock.now += 1), changes);
    await this.storage.append(request(head, 0, lease));
    return head;
  }

  /** A run with this many batches; `text(n)` is the text of each. */
  async createLong(length: number, changes: Partial<RunHead> = {}): Promise<RunHead> {
    const head = await this.create(changes);
    for (let position = 1; position < length; position++) await this.storage.append(request(head, position));
    return head;
  }

  /** A page of heads as they were written. Whether they are driven is the concern of waits.ts. */
  async list(query: ListQuery = {}, storage: Storage = this.storage): Promise<ListPage> {
    await this.#handle.settled?.();
    const { runs, next } = await storage.list(query);
    return { runs: runs.map(asWritten), next };
  }

  /** The locators of one page. */
  async locators(query: ListQuery = {}): Promise<string[]> {
    return (await this.list(query)).runs.map(({ locator }) => locator);
  }

  due(query: ListQuery = {}): Promise<string[]> {
    return this.locators({ dueAt: this.clock.now, ...query });
  }

  /** Every page, one after the other; `between` runs after each. */
  async pages(query: ListQuery, between: (page: ListPage) => Promise<void>): Promise<RunHead[]> {
    const runs: RunHead[] = [];
    for (let page = await this.list(query); ; page = await this.list({ ...query, cursor: page.next })) {
      runs.push(...page.runs);
      await between(page);
      if (page.next === null) return runs;
    }
  }
}

function asWritten(listed: RunHead): RunHead {
  const { driven: _, ...head } = listed;
  return head;
}

/** The text of the batch that `request` puts at a position. */
export const text = (position: number): string => `[1,"w${position}"]`;

export function request(head: RunHead, position: number, lease?: Lease): AppendRequest {
  const { locator } = head;
  return { locator, position, batch: text(position), head, ...(lease === undefined ? {} : { lease }) };
}

/** Expects an error with this code. */
export async function refused(work: Promise<unknown>, code: string): Promise<void> {
  await expect(work).rejects.toMatchObject({ name: "DurableError", code });
}

/** Expects exactly one append to succeed and all others to fail with `conflict`. */
export async function expectOneWinner(appends: readonly Promise<unknown>[]): Promise<number> {
  const settled = await Promise.allSettled(appends);
  const codes = settled.map((result) =>
    result.status === "fulfilled" ? "won" : ((result.reason as { code?: string }).code ?? result.reason),
  );
  expect(codes.filter((code) => code !== "won" && code !== "conflict")).toEqual([]);
  expect(codes.filter((code) => code === "won")).toHaveLength(1);
  return codes.indexOf("won");
}
