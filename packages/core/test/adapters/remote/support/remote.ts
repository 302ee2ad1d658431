/** What tests of RemoteStorage share: heads and batches as core writes them, and buckets that stop or are watched. */

import type { RunHead } from "@durable/core";
import { type MemoryBucket, RemoteStorage, type Bucket } from "@durable/core/remote";
import { systemWorld, type AppendRequest } from "@durable/core/storage";

let made = 0;

export function headOf(changes: Partial<RunHead> = {}): RunHead {
  const locator = changes.locator ?? `run${(made += 1)}`;
  return {
    locator,
    runId: `id of ${locator}`,
    workflow: "loan",
    status: "running",
    wakeAt: 0,
    dueSince: changes.wakeAt === undefined ? 1_000 + made : changes.wakeAt,
    createdAt: 1_000 + made,
    updatedAt: 1_000 + made,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
    ...changes,
  };
}

export function batchOf(head: RunHead, position: number, batch = `${head.runId} ${position}`): AppendRequest {
  return { locator: head.locator, position, batch, head };
}

export async function createLong(
  storage: RemoteStorage,
  length: number,
  changes: Partial<RunHead> = {},
): Promise<RunHead> {
  const head = headOf(changes);
  for (let position = 0; position < length; position++) await storage.append(batchOf(head, position));
  return head;
}

/** A storage whose clock and waits are a test's. */
export function remote(
  bucket: Bucket,
  clock: { now: number } = { now: 5_000 },
  warnings: string[] = [],
): RemoteStorage {
  const world = {
    ...systemWorld,
    now: () => clock.now,
    warn: (message: string) => void warnings.push(message),
    timer: (_ms: number, fire: () => void) => {
      const handle = setTimeout(fire, 0);
      return () => clearTimeout(handle);
    },
  };
  return new RemoteStorage(bucket, { world });
}

/** Calls `before` with each write; what it throws is what the writer hears, and nothing is written. */
export function watched(bucket: Bucket, before: (operation: string, key: string) => void): Bucket {
  const tell = async <T>(operation: string, key: string, work: () => Promise<T>): Promise<T> => {
    before(operation, key);
    return work();
  };
  return {
    get: (key) => tell("get", key, () => bucket.get(key)),
    create: (key, text) => tell("create", key, () => bucket.create(key, text)),
    put: (key, text) => tell("put", key, () => bucket.put(key, text)),
    list: (query) => tell("list", query.prefix, () => bucket.list(query)),
    delete: async (keys) => {
      // One after the other, so that there is a way to stop between any two.
      for (const key of keys) await tell("delete", key, () => bucket.delete([key]));
    },
  };
}

/** A process that dies at its n-th write: nothing it asks for afterwards is heard or answered. */
export function dying(
  bucket: Bucket,
  writes: number,
): { bucket: Bucket; died: Promise<void>; die: () => void } {
  const death = Promise.withResolvers<void>();
  let count = 0;
  const never = <T>(): Promise<T> => new Promise<T>(() => {});
  const write = <T>(work: () => Promise<T>): Promise<T> => {
    count += 1;
    if (count <= writes) return work();
    death.resolve();
    return never();
  };
  return {
    died: death.promise,
    die: () => void (count = Number.POSITIVE_INFINITY),
    bucket: {
      get: (key) => (count > writes ? never() : bucket.get(key)),
      list: (query) => (count > writes ? never() : bucket.list(query)),
      create: (key, text) => write(() => bucket.create(key, text)),
      put: (key, text) => write(() => bucket.put(key, text)),
      delete: async (keys) => {
        for (const key of keys) await write(() => bucket.delete([key]));
      },
    },
  };
}

export async function keysOf(bucket: MemoryBucket, prefix: string): Promise<readonly string[]> {
  return (await bucket.list({ prefix })).keys;
}
