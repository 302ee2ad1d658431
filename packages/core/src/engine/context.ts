/** The `Context` of workflows: its types, and a thin implementation over the engine. */

import { joinParts, sha256 } from "../values/hash.ts";
import { encode } from "../values/codec/encode.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import type { Arguments, Definition } from "./definition.ts";
import type { Duration } from "../values/duration.ts";
import { child } from "./calls/child.ts";
import type { CallEngine } from "./calls/call.ts";
import { parallel, race, type Group, type Settled } from "./calls/group.ts";
import type { Scope } from "./scope.ts";
import { sleep } from "./calls/sleep.ts";
import type { StepInfo } from "./calls/attempts.ts";
import { step, type StepOptions as AnyStepOptions } from "./calls/step.ts";
import type { Chunks } from "./calls/chunks.ts";
import { stream, type StreamOptions } from "./calls/stream.ts";
import { suspend, type SuspendOptions as AnySuspendOptions, type SuspendPromise } from "./calls/suspend.ts";
import { DurableError } from "../values/errors.ts";
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

/** Options of `ctx.parallel`. */
export interface ParallelOptions<M extends "all" | "settled" = "all" | "settled"> extends GroupOptions {
  /** How many branches run at the same time; all by default. */
  readonly concurrency?: number | undefined;
  /** `all` rejects with the first failure; `settled` gives the outcome of every branch. */
  readonly mode?: M | undefined;
}

/** Options of `ctx.map`. */
export interface MapOptions<T> extends GroupOptions {
  /** Names an item, so that its recorded work still belongs to it after the items change places. */
  readonly key?: ((item: T, index: number) => string) | undefined;
  /** How many items are processed at the same time; all by default. */
  readonly concurrency?: number | undefined;
}

/** A function that is one branch. It gets a context with keys of its own. */
export type Branch<T = unknown> = (ctx: Context) => T;
type Branches = Readonly<Record<string, Branch>> | readonly Branch[];

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
  /** The version that was recorded when the run started. */
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
    options?: GroupOptions,
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
    ...args: Arguments<Input, GroupOptions>
  ): Promise<Output>;
  /** Runs a function over items concurrently, each in a branch named by its key or by its index. */
  map<T, R>(
    items: readonly T[],
    fn: (ctx: Context, item: T, index: number) => R,
    options?: MapOptions<T>,
  ): Promise<Awaited<R>[]>;
  /** Waits for a duration, or until a date: seconds or years. */
  sleep(until: Duration | Date, options?: GroupOptions): Promise<void>;
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

export interface ContextParts {
  readonly engine: CallEngine;
  readonly version: string | null;
}

export function createContext(parts: ContextParts, scope: Scope): Context {
  const { engine } = parts;
  const branch = (fn: Branch) => (inner: Scope) => fn(createContext(parts, inner));
  const draw = (kind: string, name = ""): string => {
    const count = scope.count(`${kind}[${name}]`);
    return joinParts([engine.journal.seedAt(engine.replay.delivered), scope.path, kind, name, count]);
  };
  // The overloads of Context are checked at its interface; inside, values are unknown.
  const context = {
    runId: engine.journal.runId,
    version: parts.version,
    get signal() {
      return scope.signal;
    },
    step: (name: string, work: (info: StepInfo) => unknown, options: AnyStepOptions = {}) =>
      step(engine, { scope, name }, checkedWork(work, "step", name), options),
    stream: (name: string, producer: (info: StepInfo) => Chunks<unknown>, options: StreamOptions = {}) =>
      stream(engine, { scope, name }, checkedWork(producer, "stream", name), options),
    suspend: (name: string, options: AnySuspendOptions = {}) => suspend(engine, { scope, name }, options),
    parallel: (branches: Branches, options: ParallelOptions = {}) => {
      const group = groupOf("parallel", branches, options, branch);
      const { names } = group;
      return names === null
        ? parallel(engine, scope, group)
        : handled(
            parallel(engine, scope, group).then((results) =>
              Object.fromEntries(names.map((name, i) => [name, results[i]])),
            ),
          );
    },
    race: (branches: Readonly<Record<string, Branch>>, options: GroupOptions = {}) =>
      race(engine, scope, groupOf("race", branches, options, branch)),
    child: (workflow: AnyChild, input?: unknown, options: GroupOptions = {}) => {
      const { definition, name } = checkedChild(workflow);
      const where = `input of child "${name}" of run ${engine.journal.runId}`;
      const given = { definition, input: encode(input, where), fingerprint: fingerprint(input, where) };
      return child(engine, { scope, name: options.name ?? name }, given);
    },
    map: (items: readonly unknown[], fn: MapFunction, options: MapOptions<unknown> = {}) =>
      parallel(engine, scope, mapOf(items, fn, options, branch)),
    sleep: (until: Duration | Date, options: GroupOptions = {}) =>
      sleep(engine, scope, until, options.name ?? "sleep"),
    now: () => engine.replay.clock,
    random: (name?: string) => Number.parseInt(hex(sha256(draw("random", name))).slice(0, 13), 16) / 2 ** 52,
    uuid: (name?: string) => uuidFrom(hex(sha256(draw("uuid", name)))),
  };
  return context as unknown as Context;
}

type AnyChild = { readonly name: string; readonly definition: Definition };
type MapFunction = (ctx: Context, item: unknown, index: number) => unknown;

function checkedChild(workflow: AnyChild): AnyChild {
  if (typeof workflow?.definition?.body === "function") return workflow;
  throw new DurableError("invalid-options", "ctx.child needs a workflow from durable().");
}

function mapOf(
  items: readonly unknown[],
  fn: MapFunction,
  { key, name = "map", concurrency }: MapOptions<unknown>,
  branch: (fn: Branch) => (scope: Scope) => unknown,
): Group {
  const branches = items.map(
    (item, index): Branch =>
      (ctx) =>
        fn(ctx, item, index),
  );
  const group = groupOf("parallel", branches, { name, concurrency }, branch);
  if (key === undefined) return group;
  const names = items.map((item, index) => key(item, index));
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice === undefined) return { ...group, names };
  throw new DurableError(
    "invalid-options",
    `Two items of ctx.map "${name}" have the key "${twice}". Use unique keys.`,
  );
}

function groupOf(
  kind: Group["kind"],
  branches: Branches,
  options: ParallelOptions,
  branch: (fn: Branch) => (scope: Scope) => unknown,
): Group {
  const { name = kind, concurrency = Number.POSITIVE_INFINITY, mode = "all" } = options;
  if (!(concurrency >= 1)) {
    throw new DurableError("invalid-options", `The concurrency of ${kind} "${name}" must be at least 1.`);
  }
  const names = Array.isArray(branches) ? null : Object.keys(branches);
  return { kind, name, names, branches: Object.values(branches).map(branch), concurrency, mode };
}

function checkedWork<W>(work: W, kind: "step" | "stream", name: string): W {
  if (typeof work === "function") return work;
  throw new DurableError(
    "invalid-options",
    `ctx.${kind}("${name}", ...) needs a function, not ${typeof work}: pass () => work().`,
  );
}

/** The user may await this promise later, so its failure must not count as an unhandled rejection until then. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function uuidFrom(text: string): string {
  const variant = ((Number.parseInt(text[16] as string, 16) & 3) | 8).toString(16);
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-${variant}${text.slice(17, 20)}-${text.slice(20, 32)}`;
}
