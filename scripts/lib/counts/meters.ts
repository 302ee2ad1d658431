/**
 * Counts what the engine does: calls of JSON, of the world and of the storage, and bytes that were allocated.
 * JSON is wrapped for the whole process, so this module is imported before the engine, in a process of its own.
 */

import { getHeapStatistics } from "node:v8";
import type { Storage, World } from "@durable/core";
import type { StorageCounts } from "@durable/testing";

/** Counted work, by name. */
export type Counts = Record<string, number>;

/** Extra work that a test plants, to see whether the guard notices it. */
export type Plant = "reads" | "appends" | "barriers" | "decodes" | "encodes" | "allocated";

const json = { encodes: 0, decodes: 0 };
const { stringify, parse } = JSON;

/** Counts every call of `JSON.stringify` and `JSON.parse` from now on. */
export function meterJson(): void {
  JSON.stringify = ((...given: Parameters<typeof stringify>) => {
    json.encodes += 1;
    return stringify(...given);
  }) as typeof stringify;
  JSON.parse = (...given: Parameters<typeof parse>): unknown => {
    json.decodes += 1;
    return parse(...given) as unknown;
  };
}

/** A clock and ids that are the same in each execution, and a count of barriers, turns and timers. */
export class MeteredWorld {
  readonly counts = { barriers: 0, turns: 0, timers: 0 };
  readonly world: World;
  #ids = 0;
  #now = 1_793_000_000_000;

  constructor(system: World, plant: Plant | undefined) {
    this.world = {
      ...system,
      now: () => this.#now++,
      id: () => (++this.#ids).toString(32).padStart(26, "0"),
      random: () => 0.5,
      // None of them ends in a workload, or the counts would depend on how long it took.
      timer: () => {
        this.counts.timers += 1;
        return () => {};
      },
      drain: async () => {
        this.counts.barriers += 1;
        await system.drain();
        if (plant === "barriers") await this.#again(system);
      },
      turn: () => {
        this.counts.turns += 1;
        return system.turn();
      },
    };
  }

  async #again(system: World): Promise<void> {
    this.counts.barriers += 1;
    await system.drain();
  }
}

/** A storage that does more than it must. */
export function plantedStorage(storage: Storage, plant: Plant | undefined): Storage {
  if (plant === undefined || plant === "barriers") return storage;
  const read = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (plant === "reads") await ask();
    return ask();
  };
  const readChapter = storage.readChapter?.bind(storage);
  return {
    ...bound(storage),
    read: (locator, from) => read(() => storage.read(locator, from)),
    ...(readChapter && { readChapter: (locator) => read(() => readChapter(locator)) }),
    append: async (request) => {
      // A refused append: the journal has no position -1.
      if (plant === "appends") await storage.append({ ...request, position: -1 }).catch(() => {});
      if (plant === "decodes") JSON.parse(request.batch);
      if (plant === "encodes") JSON.stringify(request.head);
      if (plant === "allocated") garbage.push(Array.from({ length: 500 }, (_, i) => ({ i })));
      garbage.length = 0;
      await storage.append(request);
    },
  };
}

const garbage: unknown[] = [];

/** The methods of a storage, as properties. */
function bound(storage: Storage): Storage {
  const names = [
    "append",
    "read",
    "list",
    "lease",
    "release",
    "delete",
    "dropChapters",
    "note",
    "changed",
    "secret",
    "close",
  ];
  const methods = names.flatMap((name) => {
    const method = Reflect.get(storage, name) as ((...given: unknown[]) => unknown) | undefined;
    return method === undefined ? [] : [[name, method.bind(storage)]];
  });
  return Object.fromEntries(methods) as Storage;
}

/** What was counted between two moments. */
export async function metered(
  work: () => Promise<void>,
  counters: readonly (() => Counts)[],
): Promise<Counts> {
  const read = (): Counts => {
    // Space that was set aside for objects and not used yet counts as allocated, until a collection.
    (globalThis as { gc?: () => void }).gc?.();
    const allocated = getHeapStatistics().total_allocated_bytes;
    return Object.assign({}, ...counters.map((counter) => counter()), { ...json, allocated }) as Counts;
  };
  const before = read();
  await work();
  const after = read();
  return Object.fromEntries(
    Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]),
  );
}

/** The counts of a storage under names that say what they are. */
export function storageCounts({ counts }: { readonly counts: StorageCounts }): Counts {
  const { appends, reads, leases, releases, lists, notes, written, batches, fetched } = counts;
  return { appends, reads, leases, releases, lists, notes, written, batches, fetched };
}
