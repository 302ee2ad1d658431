/**
 * Where calls are recorded: a workflow's context, or a journal without one. This is all that the rest of the package
 * needs of either.
 */

import { nextAttemptAt, retryPolicy } from "@durable/core";
import type { Chunks, Context, Journal, RetryOptions, StepInfo } from "@durable/core";

export interface RecorderOptions {
  readonly retry: RetryOptions | false | undefined;
  /** The caller's own; aborted, there is no further attempt. */
  readonly signal: AbortSignal | undefined;
}

export interface Recorder {
  /** A failure is an outcome, which comes back on replay. Else only success is kept. */
  readonly keepsFailures: boolean;
  /** The recorded value of this name, or that of the work, which is then recorded. */
  step<T>(name: string, work: (info: StepInfo) => Promise<T>, options: RecorderOptions): Promise<T>;
  /** The recorded chunks of this name, or those of a producer; given once all of them are durable. */
  stream<T>(name: string, producer: (info: StepInfo) => Chunks<T>, options: RecorderOptions): Promise<T[]>;
}

export function recorderOf(on: Context | Journal): Recorder {
  return "recordStream" in on ? new JournalRecorder(on) : contextRecorder(on);
}

/** Counts of equal names, attempts and their delays are the engine's. */
function contextRecorder(ctx: Context): Recorder {
  return {
    keepsFailures: true,
    step: (name, work, { retry }) => ctx.step(name, work, { retry }),
    stream: (name, producer, { retry }) => ctx.stream(name, producer, { retry }),
  };
}

/** Names in use, by journal: two models over one journal must not take the same record. */
const claims = new WeakMap<Journal, Map<string, Set<number>>>();

class JournalRecorder implements Recorder {
  readonly keepsFailures = false;
  readonly #journal: Journal;
  readonly #claims: Map<string, Set<number>>;

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#claims = claims.get(journal) ?? new Map<string, Set<number>>();
    claims.set(journal, this.#claims);
  }

  step<T>(name: string, work: (info: StepInfo) => Promise<T>, options: RecorderOptions): Promise<T> {
    const { signal } = options;
    return this.#attempted(name, options, (key) =>
      this.#journal.record(key, work as (info: StepInfo) => Promise<unknown>, { signal }),
    ) as Promise<T>;
  }

  stream<T>(name: string, producer: (info: StepInfo) => Chunks<T>, options: RecorderOptions): Promise<T[]> {
    const { signal } = options;
    return this.#attempted(name, options, (key) =>
      all(this.#journal.recordStream(key, producer, { signal })),
    );
  }

  /** The flow of a journal is its user's, so attempts are made here. */
  async #attempted<T>(
    name: string,
    { retry, signal }: RecorderOptions,
    once: (key: string) => Promise<T>,
  ): Promise<T> {
    const policy = retryPolicy(retry, `"${name}" of journal ${this.#journal.id}`);
    const { key, release } = this.#claim(name);
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(key);
      } catch (error) {
        const world = { now: Date.now(), random: Math.random() };
        const at = nextAttemptAt(policy, { error, attempt }, world);
        if (at !== null && (await waited(at - world.now, signal))) continue;
        release();
        throw at === null ? error : signal?.reason;
      }
    }
  }

  /** Equal names are told apart by number, the lowest that is free: a call that failed leaves its own to the next. */
  #claim(name: string): { readonly key: string; readonly release: () => void } {
    const taken = this.#claims.get(name) ?? new Set<number>();
    this.#claims.set(name, taken);
    let number = 1;
    while (taken.has(number)) number += 1;
    taken.add(number);
    return { key: number === 1 ? name : `${name}#${number}`, release: () => taken.delete(number) };
  }
}

async function all<T>(stream: ReadableStream<T>): Promise<T[]> {
  const chunks: T[] = [];
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  return chunks;
}

/** False when it was called off. */
function waited(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve(true);
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
