/**
 * A storage that is slow, loses requests and replies, refuses, and dies, on demand.
 * Each operation asks `plan` what is to go wrong; after a death nothing answers any more, as in a killed process.
 */

import { DurableError, type Storage, type World } from "@durable/core";

export type Operation = "append" | "read" | "list" | "lease" | "release" | "delete";

export type Fault =
  /** Not applied, and the caller is told it failed. */
  | "lose-request"
  /** Applied, and the caller is told it failed. */
  | "lose-reply"
  /** Not applied, and refused as if others had been first. */
  | "conflict"
  /** The caller dies before it is applied. */
  | "crash-before"
  /** It is applied, and the caller dies before it hears of it. */
  | "crash-after"
  /** The caller dies; the request is under way and is applied later. */
  | "crash-then-apply";

export interface FaultOptions {
  readonly world: World;
  /** What goes wrong with this operation, the `index`-th of its kind, from 1. */
  readonly plan?: (operation: Operation, index: number) => Fault | null;
  /** How long an operation takes, in virtual milliseconds; nothing by default. */
  readonly latency?: () => number;
}

export interface FaultyStorage extends Storage {
  /** Settles when the storage has died. */
  readonly died: Promise<void>;
  /** How often each operation was asked for. */
  readonly counts: Readonly<Record<Operation, number>>;
}

export function faultyStorage(storage: Storage, options: FaultOptions): FaultyStorage {
  const { world, plan = () => null, latency } = options;
  const counts = { append: 0, read: 0, list: 0, lease: 0, release: 0, delete: 0 };
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
    // Whoever died while a request was under way never hears of it, though it may have arrived.
    if (fault === "lose-request") throw lost(operation);
    if (fault === "conflict") throw new DurableError("conflict", `A ${operation} was refused on purpose.`);
    if (fault === "crash-before" || dead) return die();
    if (fault === "crash-then-apply") {
      world.timer(50, () => void apply().catch(() => {}));
      return die();
    }
    const result = await apply();
    await delay();
    if (fault === "crash-after" || dead) return die();
    if (fault === "lose-reply") throw lost(operation);
    return result;
  };

  return {
    died: death.promise,
    counts,
    append: (request) => perform("append", () => storage.append(request)),
    read: (locator, from) => perform("read", () => storage.read(locator, from)),
    list: (query) => perform("list", () => storage.list(query)),
    lease: (locator, owner, ttlMs) => perform("lease", () => storage.lease(locator, owner, ttlMs)),
    release: (locator, owner, quietMs) => perform("release", () => storage.release(locator, owner, quietMs)),
    delete: (locator) => perform("delete", () => storage.delete(locator)),
    ...(storage.changed && {
      changed: (locator, length, signal) =>
        dead ? never<void>() : (storage.changed?.(locator, length, signal) ?? never<void>()),
    }),
    ...(storage.secret && { secret: () => storage.secret?.() ?? never<string>() }),
    ...(storage.close && { close: () => storage.close?.() ?? never<void>() }),
  };
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

function lost(operation: Operation): Error {
  return new Error(`The connection was lost during ${operation}.`);
}
