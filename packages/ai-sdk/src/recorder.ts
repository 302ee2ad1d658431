/**
 * Where calls are recorded: a workflow's context, or a journal without one. The rest of the package uses only
 * this interface. Proven in test/stream.test.ts.
 */

import { nextAttemptAt, retryPolicy, type ByContent, type Estimate } from "@durable/core/storage";
import type { StepQuota } from "@durable/core/types";
import { variantOf, type EvalVariant } from "@durable/core/clients";
import type { Call } from "./call.ts";
import { byContent } from "./on-change.ts";
import { isJournal, placeNow, type Place } from "./place.ts";
import {
  durableBudget,
  DurableError,
  type Chunks,
  type Context,
  type Journal,
  type RetryOptions,
  type StepInfo,
} from "@durable/core";
import { estimateOf } from "./estimate.ts";
import { waited } from "./attempts.ts";

export interface RecorderOptions {
  readonly retry: RetryOptions | false | undefined;
  /** The caller's signal; after an abort there is no further attempt. */
  readonly signal: AbortSignal | undefined;
  /** The call of a model that is recorded. */
  readonly call?: Call;
  /** For what it is, in sums of usage; that of the call by default. */
  readonly label?: string;
}

export interface Recorder {
  /** What an eval or a fork changes in this run. */
  readonly variant: EvalVariant | undefined;
  /** True when a failure is recorded as an outcome and replayed; otherwise only success is. */
  readonly keepsFailures: boolean;
  /** Returns the recorded value of this name; otherwise runs the work and records its value. */
  step<T>(name: string, work: (info: StepInfo) => Promise<T>, options: RecorderOptions): Promise<T>;
  /**
   * Returns the recorded chunks of this name; otherwise records those of a producer, and returns once all are
   * durable.
   */
  stream<T>(name: string, producer: (info: StepInfo) => Chunks<T>, options: RecorderOptions): Promise<T[]>;
}

/** The recorder of a call that is made now; `null` when it is not recorded. */
export function recorderNow(given: Place | null): Recorder | null {
  const on = placeNow(given);
  return on === null ? null : recorderOf(on);
}

export function recorderOf(on: Place): Recorder {
  return isJournal(on) ? new JournalRecorder(on) : contextRecorder(on);
}

/** The engine counts equal names and makes the attempts. */
function contextRecorder(ctx: Context): Recorder {
  return {
    variant: variantOf(ctx),
    keepsFailures: true,
    step: <T>(name: string, work: (info: StepInfo) => Promise<T>, { retry, call }: RecorderOptions) =>
      ctx.step(name, work as (info: StepInfo) => unknown, {
        retry,
        label: call?.label,
        ...(call && isModel),
        ...limitsOf(ctx, call),
        ...changeOf(ctx, call),
      }) as Promise<T>,
    stream: (name, producer, { retry, call }) =>
      ctx.stream(name, producer, {
        retry,
        label: call?.label,
        ...(call && isModel),
        ...limitsOf(ctx, call),
        ...changeOf(ctx, call),
      }),
  };
}

/** An eval runs it again. */
const isModel = { model: true } as const;

/** What limits a call of a model. */
function limitsOf(
  ctx: Context,
  call: Call | undefined,
): { quota?: StepQuota | undefined; estimate?: Estimate } {
  if (call === undefined) return {};
  const { model, params, options } = call;
  const { budget } = options;
  // One that `durableBudget` returned has been set.
  if (budget !== undefined && !(typeof budget === "object" && "spent" in budget)) durableBudget(ctx, budget);
  return { quota: options.quota, estimate: () => estimateOf(model, params) };
}

/** A call whose name comes from its content is never a recorded one under another name, also where it is asked anew. */
function changeOf(ctx: Context, call: Call | undefined): { byContent?: ByContent; was?: null } {
  if (call?.hashed !== true) return {};
  const judge = byContent(ctx, call);
  return judge === undefined ? { was: null } : { byContent: judge };
}

/** Names in use, by journal, so that two models on one journal do not take the same record. */
const claims = new WeakMap<Journal, Map<string, Set<number>>>();

class JournalRecorder implements Recorder {
  readonly variant = undefined;
  readonly keepsFailures = false;
  readonly #journal: Journal;
  readonly #claims: Map<string, Set<number>>;

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#claims = claims.get(journal) ?? new Map<string, Set<number>>();
    claims.set(journal, this.#claims);
  }

  step<T>(name: string, work: (info: StepInfo) => Promise<T>, options: RecorderOptions): Promise<T> {
    const { signal, call, label = call?.label } = options;
    return this.#attempted(name, options, (key) =>
      this.#journal.record(key, work as (info: StepInfo) => Promise<unknown>, { signal, label }),
    ) as Promise<T>;
  }

  stream<T>(name: string, producer: (info: StepInfo) => Chunks<T>, options: RecorderOptions): Promise<T[]> {
    const { signal, call, label = call?.label } = options;
    return this.#attempted(name, options, (key) =>
      all(this.#journal.recordStream(key, producer, { signal, label })),
    );
  }

  /** A journal makes no attempts of its own, so they are made here. */
  async #attempted<T>(
    name: string,
    { retry, signal, call }: RecorderOptions,
    once: (key: string) => Promise<T>,
  ): Promise<T> {
    for (const option of ["quota", "budget"] as const)
      if (call?.options[option] !== undefined)
        throw new DurableError(
          "invalid-options",
          `"${name}" of journal ${this.#journal.id} has a ${option}, which needs a workflow. Call the model in a workflow, or leave \`${option}\` out.`,
        );
    const policy = retryPolicy(retry, `"${name}" of journal ${this.#journal.id}`);
    const { key, release } = this.#claim(name);
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(key);
      } catch (error) {
        const world = { now: Date.now(), random: Math.random() };
        const at = nextAttemptAt(policy, { error, attempt }, world);
        if (at !== null && (await waited(at - world.now, [signal]))) continue;
        release();
        throw at === null ? error : signal?.reason;
      }
    }
  }

  /**
   * Equal names are distinguished by the lowest free number. A failed call frees its number for the next one.
   */
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
