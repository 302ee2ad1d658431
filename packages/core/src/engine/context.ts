/** The `Context` of workflows, as users see it. */

import type { Arguments, Definition, MessageSchemas } from "./definition.ts";
import type { Duration } from "../values/duration.ts";
import type { Settled } from "./calls/group.ts";
import type { StepInfo } from "./calls/info.ts";
import type { StepOptions as AnyStepOptions } from "./calls/step.ts";
import type { Cancelling, OnCancelOptions, Compensate } from "./calls/cleanup.ts";
import type { Chunks, StreamOptions } from "./calls/stream.ts";
import type {
  ReceiveOptions as AnyReceiveOptions,
  SuspendOptions as AnySuspendOptions,
  SuspendPromise,
} from "./calls/suspend.ts";
import type { SpawnOptions, SpawnedRun } from "./calls/spawn.ts";
import type { TagChanges } from "../values/run-tags.ts";
import type { Logger } from "../ports/world.ts";
import type { SchemaOutput, StandardSchema } from "../values/schema.ts";

/** Options of `ctx.step`. A `schema` is given in the same object and decides the type of the result. */
export type StepOptions<T = unknown> = Omit<
  AnyStepOptions,
  "schema" | "compensate" | "byContent" | "stub"
> & {
  /**
   * Undoes the effect of the step when the run fails or is cancelled. The start of the step is recorded first, and what
   * has started is undone in reverse order, whether it has settled or not.
   */
  readonly compensate?: Compensate<T> | undefined;
};
/**
 * Options of `ctx.suspend`. A `schema` and a `fallback` are given in the same object and decide the type of
 * the answer.
 */
export type SuspendOptions = Omit<AnySuspendOptions, "schema" | "fallback">;
/**
 * Options of `ctx.receive`. A `schema` and a `fallback` are given in the same object and decide the type of
 * the message.
 */
export type ReceiveOptions = Omit<AnyReceiveOptions, "schema" | "fallback">;

/** The messages of a topic, as its receives get them. */
type MessageOf<M extends MessageSchemas, K extends keyof M> = SchemaOutput<M[K]>;

/** Refuses at compile time what no journal can keep; what else cannot be kept fails when it is recorded. */
type Recordable<T> = [Awaited<T>] extends [never]
  ? unknown
  : [Awaited<T>] extends [((...args: never) => unknown) | Response]
    ? "A step cannot record a function or a Response: return data, such as `await response.json()`."
    : unknown;

/** An option that all groups of calls have. */
export interface GroupOptions {
  /**
   * The name in keys; the name of the method (`parallel`, `race`, `map`, `sleep`) or of the child workflow by
   * default.
   */
  readonly name?: string | undefined;
}

/** Options of `ctx.race`, which `ctx.child`, `ctx.parallel` and `ctx.map` have as well. */
export interface DeadlineOptions extends GroupOptions {
  /**
   * How long the call may take, from its start. When it passes, the call rejects with code `deadline`, its
   * branches are given up, and the child is cancelled.
   */
  readonly deadline?: Duration | undefined;
}

/** Options of `ctx.child`. */
export interface ChildOptions extends DeadlineOptions {
  /** The name of the call in an earlier version of the code: its child is kept. `null`: it is new. */
  readonly was?: string | null | undefined;
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
export type Branch<T = unknown, M extends MessageSchemas = MessageSchemas> = (ctx: Context<M>) => T;
export type Branches<M extends MessageSchemas = MessageSchemas> =
  | Readonly<Record<string, Branch<unknown, M>>>
  | readonly Branch<unknown, M>[];

/** A branch of any workflow, whatever messages that declares. */
type AnyBranch = (ctx: never) => unknown;
type AnyBranches = Readonly<Record<string, AnyBranch>> | readonly AnyBranch[];

/** Cleans up after a cancel. It gets a context with keys of its own: steps, groups, sleeps and children are recorded. */
export type CleanUp = (ctx: Context, cancelling: Cancelling) => unknown;

/** Results in the shape of the branches: a record for a record, a tuple for a tuple. */
export type ParallelResult<B extends AnyBranches, M extends "all" | "settled"> = {
  -readonly [K in keyof B]: B[K] extends (ctx: never) => infer T
    ? M extends "settled"
      ? Settled<Awaited<T>>
      : Awaited<T>
    : never;
};

/** The winner of a race: the name of its branch, and its value. */
export type RaceResult<B extends Readonly<Record<string, AnyBranch>>> = {
  [K in keyof B & string]: { readonly name: K; readonly value: Awaited<ReturnType<B[K]>> };
}[keyof B & string];

/** The first argument of a workflow. Everything that the workflow awaits comes from here. */
export interface Context<M extends MessageSchemas = MessageSchemas, Input = unknown> {
  /** The id of the run. */
  readonly runId: string;
  /** The version that was recorded when the run, or its current chapter, began. */
  readonly version: string | null;
  /** Aborts when the run is cancelled, or when this branch has lost a race. */
  readonly signal: AbortSignal;
  /**
   * Runs `work` and records its outcome; on replay the recorded outcome is returned and `work` does not run.
   * @example const draft = await ctx.step("draft", () => write(topic), { retry: { attempts: 3 } });
   */
  step<S extends StandardSchema>(
    name: string,
    work: (info: StepInfo) => unknown,
    options: StepOptions<SchemaOutput<S>> & { readonly schema: S },
  ): Promise<SchemaOutput<S>>;
  step<T>(
    name: string,
    work: (info: StepInfo) => T & Recordable<T>,
    options?: StepOptions<NoInfer<Awaited<T>>>,
  ): Promise<Awaited<T>>;
  /**
   * Waits for an answer from outside. The promise has a `token` that answers it, also before it is awaited.
   * @example const { ok } = await ctx.suspend("approve", { note: draft, schema: z.object({ ok: z.boolean() }) });
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
  /**
   * Waits for the next message of a topic, sent by `run.send(topic, payload)`. Messages are read in the order
   * in which they were recorded, each once; those that came before are kept.
   * @example const order = await ctx.receive<Order>("order", { timeout: "1 hour", fallback: null });
   */
  receive<S extends StandardSchema, F = never>(
    topic: string,
    options: ReceiveOptions & { readonly schema: S; readonly fallback?: F | undefined },
  ): Promise<SchemaOutput<S> | F>;
  receive<K extends keyof M & string, F = never>(
    topic: K,
    options?: ReceiveOptions & { readonly fallback?: F | undefined },
  ): Promise<MessageOf<M, K> | F>;
  receive<T, F = T>(
    topic: keyof M & string,
    options: ReceiveOptions & { readonly fallback: F },
  ): Promise<T | F>;
  receive<T>(topic: keyof M & string, options?: ReceiveOptions): Promise<T>;
  /**
   * The messages of a topic, one after the other. It ends when no message comes within `timeout`; without one
   * it never ends by itself.
   */
  messages<S extends StandardSchema>(
    topic: string,
    options: ReceiveOptions & { readonly schema: S },
  ): AsyncIterable<SchemaOutput<S>>;
  messages<K extends keyof M & string>(topic: K, options?: ReceiveOptions): AsyncIterable<MessageOf<M, K>>;
  messages<T>(topic: keyof M & string, options?: ReceiveOptions): AsyncIterable<T>;
  /**
   * Shows a value to others: in `outcome().report` and in lists. It is recorded with the next entry of the
   * run, and replaces the last one. At most 4 KiB.
   * @example ctx.report({ done: 3, of: 10 });
   */
  report(value: unknown): void;
  /**
   * Runs branches concurrently. Named branches give a record, a list gives a tuple.
   * @example const { news, papers } = await ctx.parallel({ news: (c) => c.step("n", news), papers: (c) => c.step("p", papers) });
   */
  parallel<const B extends Branches<M>>(
    branches: B,
    options: ParallelOptions<"settled"> & { readonly mode: "settled" },
  ): Promise<ParallelResult<B, "settled">>;
  parallel<const B extends Branches<M>>(
    branches: B,
    options?: ParallelOptions<"all">,
  ): Promise<ParallelResult<B, "all">>;
  /**
   * The first branch to settle wins; the others are aborted.
   * @example const { name, value } = await ctx.race({ answer: (c) => c.suspend("reply"), late: (c) => c.sleep("2 days") });
   */
  race<const B extends Readonly<Record<string, Branch<unknown, M>>>>(
    branches: B,
    options?: DeadlineOptions,
  ): Promise<RaceResult<B>>;
  /**
   * Records what a producer yields, chunk by chunk; `run.stream(name)` reads along. Resolves with all chunks
   * at the end, and on replay with the recorded ones.
   * @example const words = await ctx.stream("answer", () => model.stream(prompt));
   */
  stream<T>(
    name: string,
    producer: (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>,
    options?: StreamOptions,
  ): Promise<T[]>;
  /**
   * Runs another workflow as a run of its own, and waits for its output. Open waits of the child are shown as
   * waits of this run, too.
   * @example const report = await ctx.child(research, { topic });
   */
  child<Input, Output>(
    workflow: { readonly name: string; readonly definition: Definition<Input, Output> },
    ...args: Arguments<Input, ChildOptions>
  ): Promise<Output>;
  /**
   * Starts another workflow as a run of its own, and does not wait for it. Resolves when that run is recorded;
   * it is driven like any other run, also after this one has ended.
   * @example await ctx.spawn(mail, { to, text }, { onParentEnd: "leave" });
   */
  spawn<Input, Output>(
    workflow: { readonly name: string; readonly definition: Definition<Input, Output> },
    ...args: Arguments<Input, SpawnOptions>
  ): Promise<SpawnedRun>;
  /** Changes tags of the run; `null` removes one. Recorded with the next entry of the run. */
  tag(changes: TagChanges): void;
  /**
   * Runs a function over items concurrently, each in a branch named by its key or by its index.
   * @example const pages = await ctx.map(urls, (c, url) => c.step("fetch", () => load(url)), { key: (url) => url, concurrency: 4 });
   */
  map<T, R>(
    items: readonly T[],
    fn: (ctx: Context<M>, item: T, index: number) => R,
    options?: MapOptions<T>,
  ): Promise<Awaited<R>[]>;
  /**
   * Registers a function that cleans up when the run is cancelled. The registration is recorded before any work that
   * begins after it. Functions run in reverse order, each for a limited time; then the run is `cancelled`.
   * @example ctx.onCancel((c) => c.step("release", () => room.release()));
   */
  onCancel(fn: CleanUp, options?: OnCancelOptions): void;
  /**
   * Waits for a duration, or until a date: seconds or years.
   * @example await ctx.sleep("30 days");
   */
  sleep(until: Duration | Date, options?: GroupOptions): Promise<void>;
  /**
   * Ends this chapter of the run and begins the next, under the same id, with this input. Earlier records
   * are no longer read, so a run may go on for ever. The promise never settles: return it.
   * @example return ctx.continueAs({ turn: turn + 1 });
   */
  continueAs(input: Input): Promise<never>;
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
