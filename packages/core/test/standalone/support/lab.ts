/** What tests of journals without a workflow share. */

import { Journal, type JournalOptions, type StepInfo, type Storage, type World } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { pause, type Lab } from "../../support/behaviour-lab.ts";
import { range } from "../../support/stream-lab.ts";

/** Opens the journal of a test, in its world. */
export function openJournal(
  on: { readonly storage: Storage; readonly world: World },
  options: JournalOptions & { readonly id?: string } = {},
): Promise<Journal> {
  const { id = "j", ...rest } = options;
  return Journal.open(id, { storage: on.storage, world: on.world, ...rest });
}

/** All chunks of a stream, to its end. */
export async function drained<T>(stream: ReadableStream<T>): Promise<T[]> {
  const chunks: T[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** `kind key` of every entry, with the attempt where it is not the first. */
export function kindsIn(journal: Journal): string[] {
  return journal.entries().map((entry) => {
    const attempt = "attempt" in entry && entry.attempt > 1 ? ` ${entry.attempt}` : "";
    return "key" in entry ? `${entry.kind} ${entry.key}${attempt}` : entry.kind;
  });
}

/** Calls `tell` with every append, before it is made. */
export function tapped(storage: Storage, tell: (request: AppendRequest) => void): Storage {
  return {
    append: (request) => {
      tell(request);
      return storage.append(request);
    },
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
}

/** Words that come one by one, each after a while; `calls` has the attempts, `ended` what was closed. */
export function wordsOf(on: Lab, count: number, everyMs = 0) {
  const calls: number[] = [];
  const ended: number[] = [];
  const produce = async function* ({ attempt }: StepInfo) {
    calls.push(attempt);
    try {
      for (const n of range(count)) {
        yield `${attempt}.${n}`;
        if (everyMs > 0) await pause(on.world, everyMs);
      }
    } finally {
      ended.push(attempt);
    }
  };
  const whole = (attempt = 1): string[] => range(count).map((n) => `${attempt}.${n}`);
  return { produce, calls, ended, whole };
}
