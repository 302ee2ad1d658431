/** A world, a storage and a secret for one test, and a storage that lets the test in at any operation. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage, type Outcome, type Run, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { onTestFinished } from "vitest";
import { putEmptyJournal } from "./sqlite-empty.ts";

export const secret = "a secret for tests, of no worth";

export interface Lab {
  readonly world: VirtualWorld;
  readonly storage: Storage;
  readonly secret: string;
}

/** What `flow.with` and `createApp` take: virtual time over journals in memory. */
export function lab(seed = 1): Lab {
  const world = virtualWorld({ seed });
  return { world, storage: new MemoryStorage({ now: () => world.now() }), secret };
}

/** The same, with a storage that announces due runs to workers. */
export function noticingLab(seed = 1): Lab {
  const world = virtualWorld({ seed });
  const storage = new MemoryStorage({
    now: () => world.now(),
    timer: (ms, fire) => world.timer(ms, fire),
  });
  return { world, storage, secret };
}

/** The same, but every run has a nonce of its own, as outside of tests. A virtual world fixes one per run id. */
export function nonceLab(base: Lab = lab()): Lab {
  const { world } = base;
  return { ...base, world: { ...world, nonce: () => world.id().slice(0, 16) } };
}

/** The same over a SQLite file that goes with the test; its leases run on the system's clock. */
export function sqliteLab(): Lab {
  const directory = mkdtempSync(join(tmpdir(), "durable-"));
  const path = join(directory, "journal.db");
  putEmptyJournal(path);
  const storage = new SqliteStorage(path);
  onTestFinished(async () => {
    await storage.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  return { world: virtualWorld({ start: Date.now() }), storage, secret };
}

export type Moment = "before" | "after";
export type Hook = (operation: string, moment: Moment, index: number) => Promise<void> | void;

/** Calls `hook` before and after each operation; `index` counts all of them from 1. */
export function hooked(storage: Storage, hook: Hook): Storage {
  let count = 0;
  const around = async <T>(operation: string, apply: () => Promise<T>): Promise<T> => {
    const index = ++count;
    await hook(operation, "before", index);
    const result = await apply();
    await hook(operation, "after", index);
    return result;
  };
  const wrapped: Storage = {
    append: (request) => around("append", () => storage.append(request)),
    read: (locator, from) => around("read", () => storage.read(locator, from)),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => around("lease", () => storage.lease(locator, owner, ttlMs)),
    release: (locator, owner, quietMs) => around("release", () => storage.release(locator, owner, quietMs)),
    delete: (locator) => storage.delete(locator),
  };
  if (storage.changed !== undefined) wrapped.changed = storage.changed.bind(storage);
  return wrapped;
}

export function pause(world: VirtualWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.timer(ms, resolve));
}

/** The output of a completed run; anything else is given back whole, so that a failing test shows it. */
export function outputOf(outcome: Outcome<unknown> | undefined): unknown {
  return outcome?.status === "completed" ? outcome.output : outcome;
}

/** The token of an open wait, by key. */
export function tokenOf(outcome: Outcome<unknown>, key?: string): string {
  const points = outcome.status === "suspended" ? outcome.waiting : [];
  const point = key === undefined ? points[0] : points.find((one) => one.key === key);
  if (point === undefined) throw new Error(`No open wait ${key ?? ""} in ${JSON.stringify(outcome)}`);
  return point.token;
}

export async function kindsOf(run: Run): Promise<string[]> {
  return (await run.entries()).map((entry) => ("key" in entry ? `${entry.kind} ${entry.key}` : entry.kind));
}

/** Settles how a promise ended. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
}
