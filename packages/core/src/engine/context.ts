/** The `Context` of workflows, as users see it. */

import type { Arguments, Definition } from "./definition.ts";
import type { Duration } from "../values/duration.ts";
import type { Settled } from "./calls/group.ts";
import type { StepInfo } from "./calls/attempts.ts";
import type { StepOptions as AnyStepOptions } from "./calls/step.ts";
import type { Chunks } from "./calls/chunks.ts";
import type { StreamOptions } from "./calls/stream.ts";
import type { SuspendOptions as AnySuspendOptions, SuspendPromise } from "./calls/suspend.ts";
import type { SpawnOptions, SpawnedRun } from "./calls/spawn.ts";
import type { TagChanges } from "../values/run-tags.ts";
import type { Logger } from "../ports/world.ts";
import type { SchemaOutput, StandardSchema } from "../values/schema.ts";

/** Options of `ctx.step`. A `schema` is given in the same object and decides the type of the result. */
export type StepOptions = Omit<AnyStepOptions, "schema">;
/**
 * Options of `ctx.suspend`. A `schema` and a `fallback` are given in the same object and decide the type of
 * the answer.
 */
export type SuspendOptions = Omit<AnySuspendOptions, "schema" | "fallback">;

/** An option that all groups of calls have. */
export interface GroupOptions {
  /**
   * The name in keys; the name of the method (`parallel`, `race`, `map`, `sleep`) or of the child workflow by
   * default.
   */
  readonly name?: string | undefined;
}

/** Options of `ctx.race` and `ctx.child`, which `ctx.parallel` and `ctx.map` have as well. */
export interface DeadlineOptions extends GroupOptions {
  /**
   * How long the call may take, from its start. When it passes, the call rejects with code `deadline`, its
   * branches are given up, and the child is cancelled.
   */
  readonly deadline?: Duration | undefined;
}

/** Options of `ctx.parallel`. */
export interface ParallelOptions<M extends "all" | "settled" = "all" | "settled"> extends DeadlineOptions {
  /** How many branches run at the same time; all by default. */
  readonly concurrency?: number | undefined;
  /** `all` rejects with the first failure; `settled` gives the outcome of every branch. */
  readonly mode?: M | undefined;
}

/** Options of `ctx.map`. */
export interface MapOptions<T> extends DeadlineOptions {
  /** Names an item by any text, so that its recorded work still belongs to it after the items change places. */
  readonly key?: ((item: T, index: number) => string) | undefined;
  /** How many items are processed at the same time; all by default. */
  readonly concurrency?: number | undefined;
}

/** A function that is one branch. It gets a context with keys of its own. */
export type Branch<T = unknown> = (ctx: Context) => T;
export type Branches = Readonly<Record<string, Branch>> | readonly Branch[];

/** Results in the shape of the branches: a record for a record, a tuple for a tuple. */
export type ParallelResult<B extends Branches, M extends "all" | "settled"> = {
  -readonly [K in keyof B]: B[K] extends Branch<infer T>
    ? M extends "settled"
      ? Settled<Awaited<T>>
      : Awaited<T>
    : never;
};

/** The winner of a race: the name of its branch, and its value. */
export type RaceResult<B extends Readonly<Record<string, Branch>>> = {
  [K in keyof B & string]: { readonly name: K; readonly value: Awaited<ReturnType<B[K]>> };
}[keyof B & string];

/** The first argument of a workflow. Everything that the workflow awaits comes from here. */
export interface Context {
  /** The id of the run. */
  readonly runId: string;
  /** The version that was recorded when the run, or its current chapter, began. */
  readonly version: string | null;
  /** Aborts when the run is cancelled, or when this branch has lost a race. */
  readonly signal: AbortSignal;
  /**
   * Runs `work` and records its outcome; on replay the recorded outcome is returned and `work` does not run.
   */
  step<S extends StandardSchema>(
    name: string,
    work: (info: StepInfo) => unknown,
    options: StepOptions & { readonly schema: S },
  ): Promise<SchemaOutput<S>>;
  step<T>(name: string, work: (info: StepInfo) => T, options?: StepOptions): Promise<Awaited<T>>;
  /**
   * Waits for an answer from outside. The promise has a `token` that answers it, also before it is awaited.
   */
  suspend<S extends StandardSchema, F>(
    name: string,
    options: SuspendOptions & { readonly schema: S; readonly fallback: F },
  ): SuspendPromise<SchemaOutput<S> | F>;
  suspend<S extends StandardSchema>(
    name: string,
    options: SuspendOptions & { readonly schema: S },
  ): SuspendPromise<SchemaOutput<S>>;
  suspend<T = unknown, F = T>(
    name: string,
    options: SuspendOptions & { readonly fallback: F },
  ): SuspendPromise<T | F>;
  suspend<T = unknown>(name: string, options?: SuspendOptions): SuspendPromise<T>;
  /** Runs branches concurrently. Named branches give a record, a list gives a tuple. */
  parallel<const B extends Branches>(
    branches: B,
    options: ParallelOptions<"settled"> & { readonly mode: "settled" },
  ): Promise<ParallelResult<B, "settled">>;
  parallel<const B extends Branches>(
    branches: B,
    options?: ParallelOptions<"all">,
  ): Promise<ParallelResult<B, "all">>;
  /** The first branch to settle wins; the others are aborted. */
  race<const B extends Readonly<Record<string, Branch>>>(
    branches: B,
    options?: DeadlineOptions,
  ): Promise<RaceResult<B>>;
  /**
   * Records what a producer yields, chunk by chunk; `run.stream(name)` reads along. Resolves with all chunks
   * at the end, and on replay with the recorded ones.
   */
  stream<T>(
    name: string,
    producer: (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>,
    options?: StreamOptions,
  ): Promise<T[]>;
  /**
   * Runs another workflow as a run of its own, and waits for its output. Open waits of the child are shown as
   * waits of this run, too.
   */
  child<Input, Output>(
    workflow: { readonly name: string; readonly definition: Definition<Input, Output> },
    ...args: Arguments<Input, DeadlineOptions>
  ): Promise<Output>;
  /**
   * Starts another workflow as a run of its own, and does not wait for it. Resolves when that run is recorded;
   * it is driven like any other run, also after this one has ended.
   */
  spawn<Input, Output>(
    workflow: { readonly name: string; readonly definition: Definition<Input, Output> },
    ...args: Arguments<Input, SpawnOptions>
  ): Promise<SpawnedRun>;
  /** Changes tags of the run; `null` removes one. Recorded with the next entry of the run. */
  tag(changes: TagChanges): void;
  /** Runs a function over items concurrently, each in a branch named by its key or by its index. */
  map<T, R>(
    items: readonly T[],
    fn: (ctx: Context, item: T, index: number) => R,
    options?: MapOptions<T>,
  ): Promise<Awaited<R>[]>;
  /** Waits for a duration, or until a date: seconds or years. */
  sleep(until: Duration | Date, options?: GroupOptions): Promise<void>;
  /**
   * Ends this chapter of the run and begins the next, under the same id, with this input. What was recorded
   * before is no longer read, so a run may go on for ever. The promise never settles: return it.
   */
  continueAs(input: unknown): Promise<never>;
  /**
   * Fails the run with this error, from code whose throws would be caught. The promise never settles. Elsewhere, throw.
   */
  fail(error: unknown): Promise<never>;
  /** Writes lines to the `logger`, with run, workflow and branch. Silent while recorded work is replayed. */
  readonly log: Logger;
  /** The clock of the run, in milliseconds: the time of the latest entry it has seen. Equal on replay. */
  now(): number;
  /** A random number in [0, 1), equal on replay. */
  random(name?: string): number;
  /** A random UUID, equal on replay. */
  uuid(name?: string): string;
}

/** `ctx.parallel` as a function. */
export function parallelOf<const B extends Branches>(
  ctx: Context,
  branches: B,
  options: ParallelOptions<"settled"> & { readonly mode: "settled" },
): Promise<ParallelResult<B, "settled">>;
export function parallelOf<const B extends Branches>(
  ctx: Context,
  branches: B,
  options?: ParallelOptions<"all">,
): Promise<ParallelResult<B, "all">>;
export function parallelOf(ctx: Context, branches: Branches, options?: ParallelOptions): Promise<unknown> {
  return ctx.parallel(branches, options as ParallelOptions<"all">);
}
