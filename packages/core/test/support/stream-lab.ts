/** What tests of streams share: both storages, readers that say what they saw, and storages that can be held back. */

import { durable, type Run, type Storage, type StreamEvent, type World } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { SqliteStorage } from "@durable/core/sqlite";
import { onTestFinished } from "vitest";
import { lab, pause, type Lab } from "./behaviour-lab.ts";
import { putEmptyJournal } from "./sqlite-empty.ts";
import { memoryFolder, tempFolder } from "./sqlite-temp.ts";

/** A SQLite file that goes with the test; its leases run on virtual time. */
export function sqliteLab(): Lab & { readonly path: string } {
  const { world, secret } = lab();
  const { path, remove } = tempFolder(memoryFolder);
  putEmptyJournal(path);
  const storage = new SqliteStorage({ path, now: () => world.now() });
  onTestFinished(async () => {
    await storage.close();
    remove();
  });
  // Not one of the options that a lab is spread into.
  const options: Lab = { world, storage, secret };
  return Object.defineProperty(options as Lab & { readonly path: string }, "path", { value: path });
}

export const labs: readonly (readonly [name: string, make: () => Lab])[] = [
  ["MemoryStorage", lab],
  ["SQLite", sqliteLab],
];

/** What a reader saw: `attempt index value` of chunks, and `reset attempt`. */
export type Seen = readonly [attempt: number, index: number, value: unknown] | `reset ${number}`;

export function seenAs(event: StreamEvent): Seen {
  return event.type === "chunk" ? [event.attempt, event.index, event.value] : `reset ${event.attempt}`;
}

/** Reads to the end; `into` has what was seen so far. */
export async function readAll(reader: AsyncIterable<StreamEvent>, into: Seen[] = []): Promise<Seen[]> {
  for await (const event of reader) into.push(seenAs(event));
  return into;
}

/** What a reader of one clean attempt sees. */
export function wholeOf(values: readonly unknown[], attempt = 1, from = 0): Seen[] {
  return values.slice(from).map((value, i) => [attempt, from + i, value] as const);
}

/** A stream of these values, as a model's answer comes. */
export function readable<T>(values: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start: (controller) => {
      for (const value of values) controller.enqueue(value);
      controller.close();
    },
  });
}

export const range = (length: number): number[] => Array.from({ length }, (_, i) => i);

export type ChunksEntry = Extract<Entry, { kind: "stream.chunks" }>;

export async function chunksOf(run: Run, key?: string): Promise<ChunksEntry[]> {
  return (await run.entries()).filter(
    (entry): entry is ChunksEntry =>
      entry.kind === "stream.chunks" && (key === undefined || entry.key === key),
  );
}

/** Indices are dense within each attempt of each stream, in the order of the journal. */
export function isDense(entries: readonly ChunksEntry[]): boolean {
  const next = new Map<string, number>();
  return entries.every(({ key, attempt, from, chunks }) => {
    const id = `${key} ${attempt}`;
    const expected = next.get(id) ?? 0;
    next.set(id, from + chunks.length);
    return from === expected;
  });
}

export interface Held extends Storage {
  /** Once so many more have passed, appends wait; `letGo` lets them all through. */
  hold(after?: number): void;
  letGo(): void;
  /** Appends that wait now, and those that were let through. */
  readonly waiting: number;
  readonly appends: number;
}

/** A storage whose appends can be held back, and with them the lease. */
export function held(storage: Storage): Held {
  let gate: PromiseWithResolvers<void> | null = null;
  const counts = { waiting: 0, appends: 0, free: 0 };
  return {
    append: async (request) => {
      counts.waiting += 1;
      if (--counts.free < 0) await gate?.promise;
      counts.waiting -= 1;
      counts.appends += 1;
      return storage.append(request);
    },
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: async (locator, owner, ttlMs) => {
      if (counts.free < 0) await gate?.promise;
      return storage.lease(locator, owner, ttlMs);
    },
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
    ...(storage.changed && {
      changed: (locator, length, signal) => storage.changed?.(locator, length, signal) ?? Promise.resolve(),
    }),
    hold: (after = 0) => {
      counts.free = after;
      gate ??= Promise.withResolvers();
    },
    letGo: () => {
      gate?.resolve();
      gate = null;
    },
    get waiting() {
      return counts.waiting;
    },
    get appends() {
      return counts.appends;
    },
  };
}

/** The same world, and how many of its timers are set now. */
export function timed<W extends World>(world: W): { readonly world: W; readonly timers: () => number } {
  const open = new Set<object>();
  const timer: World["timer"] = (ms, fire) => {
    const one = {};
    open.add(one);
    const cancel = world.timer(ms, () => {
      open.delete(one);
      fire();
    });
    return () => {
      open.delete(one);
      cancel();
    };
  };
  return { world: { ...world, timer }, timers: () => open.size };
}

/** A workflow of one stream, which gives these chunks with so many milliseconds before each; `calls` has its attempts. */
export function streamOf(world: Lab["world"], values: readonly unknown[], everyMs = 0) {
  const calls: number[] = [];
  const flow = durable("one-stream", (ctx) =>
    ctx.stream("words", async function* ({ attempt }) {
      calls.push(attempt);
      for (const value of values) {
        if (everyMs > 0) await pause(world, everyMs);
        yield value;
      }
    }),
  );
  return { flow, calls };
}
