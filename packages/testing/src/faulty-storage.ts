/**
 * A storage that is slow, loses requests and replies, refuses them, or dies, as `plan` decides for each
 * operation. After a death no request settles, as in a killed process. Proven in test/kit-caught.test.ts.
 */

import { DurableError, type Storage, type World } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { StorageLimits } from "@durable/core/storage";

/**
 * The operations of a storage that can fail; `read` is also `readChapter`, `delete` is also `deleteUnchanged`,
 * `lease` is also `takeTurn`, `list` is also `tally`, `schedule` is any of `schedules`.
 */
export type Operation =
  | "append"
  | "read"
  | "list"
  | "lease"
  | "release"
  | "delete"
  | "note"
  | "dropChapters"
  | "claim"
  | "schedule";

/** What can go wrong with an operation of a storage. */
export type Fault =
  /** Not applied, and reported as failed. */
  | "lose-request"
  /** Applied, and reported as failed. */
  | "lose-reply"
  /** Not applied, and refused as if another writer had been first. */
  | "conflict"
  /** The caller dies before it is applied. */
  | "crash-before"
  /** It is applied, and the caller dies before it gets the reply. */
  | "crash-after"
  /** The caller dies; the request is on its way and is applied later. */
  | "crash-then-apply";

/** Options of `faultyStorage`. */
export interface FaultOptions {
  readonly world: World;
  /** What goes wrong with this operation, the `index`-th of its kind, from 1; `null` for nothing. */
  readonly plan?: ((operation: Operation, index: number) => Fault | null) | undefined;
  /** How long an operation takes, in virtual milliseconds; nothing by default. */
  readonly latency?: (() => number) | undefined;
}

/** A storage whose operations go wrong. */
export interface FaultyStorage extends Storage {
  /** Resolves when the storage has died. */
  readonly died: Promise<void>;
  /** How often each operation was called. */
  readonly counts: Readonly<Record<Operation, number>>;
}

/** Makes operations of a storage go wrong, as a plan says. */
export function faultyStorage(storage: Storage, options: FaultOptions): FaultyStorage {
  assertOptions(options, "world plan latency", "faultyStorage");
  const { world, plan = () => null, latency } = options;
  const counts = {
    append: 0,
    read: 0,
    list: 0,
    lease: 0,
    release: 0,
    delete: 0,
    note: 0,
    dropChapters: 0,
    claim: 0,
    schedule: 0,
  };
  const death = Promise.withResolvers<void>();
  let dead = false;
  const die = <T>(): Promise<T> => {
    dead = true;
    death.resolve();
    return never();
  };
  const delay = (): Promise<void> | null => {
    const ms = latency?.() ?? 0;
    return ms === 0 ? null : new Promise((resolve) => void world.timer(ms, resolve));
  };

  const perform = async <T>(operation: Operation, apply: () => Promise<T>): Promise<T> => {
    if (dead) return never();
    const fault = plan(operation, ++counts[operation]);
    await delay();
    // A caller that died while its request was on its way gets no reply, though the request may have been
    // applied.
    if (fault === "lose-request") throw connectionLost(operation);
    if (fault === "conflict") throw new DurableError("conflict", `The test refused this ${operation}.`);
    if (fault === "crash-before" || dead) return die();
    if (fault === "crash-then-apply") {
      world.timer(50, () => void apply().catch(() => {}));
      return die();
    }
    const result = await apply();
    await delay();
    if (fault === "crash-after" || dead) return die();
    if (fault === "lose-reply") throw connectionLost(operation);
    return result;
  };

  return {
    died: death.promise,
    counts,
    append: (request) => perform("append", () => storage.append(request)),
    read: (locator, from) => perform("read", () => storage.read(locator, from)),
    list: (query) => perform("list", () => storage.list(query)),
    lease: (locator, owner, ttlMs, slots) =>
      perform("lease", () => storage.lease(locator, owner, ttlMs, slots)),
    release: (locator, owner, quietMs) => perform("release", () => storage.release(locator, owner, quietMs)),
    delete: (locator) => perform("delete", () => storage.delete(locator)),
    ...optionalCalls(storage, perform),
    ...waitingCalls(storage, () => dead),
    ...(storage.limits && { limits: deadly(storage.limits, () => dead) }),
    ...(storage.secret && { secret: () => storage.secret?.() ?? never<string>() }),
    ...(storage.close && { close: () => storage.close?.() ?? never<void>() }),
  };
}

/** The calls that wait for others, where the storage has them. A dead process hears nothing. */
function waitingCalls(storage: Storage, isDead: () => boolean): Pick<Storage, "changed" | "whenDue"> {
  const changed = storage.changed?.bind(storage);
  const whenDue = storage.whenDue?.bind(storage);
  return {
    ...(changed && {
      changed: (locator, length, signal) => (isDead() ? never<void>() : changed(locator, length, signal)),
    }),
    ...(whenDue && {
      whenDue: (workflow, signal, version) => (isDead() ? never<void>() : whenDue(workflow, signal, version)),
    }),
  };
}

/** Limits without faults of their own. A dead process hears nothing. */
function deadly(limits: StorageLimits, isDead: () => boolean): StorageLimits {
  const alive = <T>(call: () => Promise<T>): Promise<T> => (isDead() ? never<T>() : call());
  return {
    slots: () => alive(() => limits.slots()),
    read: (name) => alive(() => limits.read(name)),
    swap: (...given) => alive(() => limits.swap(...given)),
    ...(limits.put && { put: (...given) => alive(() => limits.put?.(...given) ?? Promise.resolve()) }),
    texts: (prefix) => alive(() => limits.texts(prefix)),
  };
}

type Perform = <T>(operation: Operation, apply: () => Promise<T>) => Promise<T>;

/** The calls that a storage may lack, made through `perform` where the storage has them. */
export function optionalCalls(
  storage: Storage,
  perform: Perform,
): Pick<
  Storage,
  | "readChapter"
  | "dropChapters"
  | "note"
  | "claim"
  | "finds"
  | "schedules"
  | "deleteUnchanged"
  | "takeTurn"
  | "giveBackSpace"
  | "spent"
  | "tally"
> {
  const readChapter = storage.readChapter?.bind(storage);
  const dropChapters = storage.dropChapters?.bind(storage);
  const note = storage.note?.bind(storage);
  const claim = storage.claim?.bind(storage);
  const deleteUnchanged = storage.deleteUnchanged?.bind(storage);
  const takeTurn = storage.takeTurn?.bind(storage);
  const tally = storage.tally?.bind(storage);
  const { schedules } = storage;
  return {
    ...(readChapter && {
      readChapter: (locator, back) => perform("read", () => readChapter(locator, back)),
    }),
    ...(dropChapters && {
      dropChapters: (locator, before) => perform("dropChapters", () => dropChapters(locator, before)),
    }),
    ...(note && { note: (locator, text) => perform("note", () => note(locator, text)) }),
    ...(claim && { claim: (request) => perform("claim", () => claim(request)) }),
    ...(deleteUnchanged && {
      deleteUnchanged: (heads) => perform("delete", () => deleteUnchanged(heads)),
    }),
    ...(takeTurn && {
      takeTurn: (name, owner, ttlMs) => perform("lease", () => takeTurn(name, owner, ttlMs)),
    }),
    ...(tally && { tally: (dueAt) => perform("list", () => tally(dueAt)) }),
    ...(storage.spent && { spent: storage.spent.bind(storage) }),
    ...(storage.giveBackSpace && { giveBackSpace: storage.giveBackSpace.bind(storage) }),
    ...(storage.finds && { finds: true }),
    ...(schedules && {
      schedules: {
        get: (name) => perform("schedule", () => schedules.get(name)),
        list: (query) => perform("schedule", () => schedules.list(query)),
        put: (schedule, version) => perform("schedule", () => schedules.put(schedule, version)),
        delete: (name, version) => perform("schedule", () => schedules.delete(name, version)),
      },
    }),
  };
}

/** A promise that never settles, as a dead process sees it. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

export function connectionLost(operation: Operation): Error {
  return new Error(`The connection was lost during ${operation}.`);
}
