/**
 * Watches the steps of a run while it is driven. A step whose body was called ran here; every other step that
 * settles came from the journal.
 *
 * W1. Keys are counted as the library counts them: by name, in the order of calls, per branch.
 * W2. A watcher only listens: results, order and errors are the context's own.
 */

import { durable, type Branch, type Context, type StepInfo, type Workflow } from "@durable/core";
import type { MapOptions } from "@durable/core/types";

/** One call of a step's body. */
export interface Attempt {
  readonly key: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
}

/** A step with its outcome, which is durable. */
export interface Settlement {
  readonly key: string;
  /** False when its outcome was already in the journal. */
  readonly ran: boolean;
  readonly outcome:
    | { readonly ok: true; readonly value: unknown }
    | { readonly ok: false; readonly error: unknown };
}

export interface Watcher {
  began?(attempt: Attempt): void;
  ended?(
    attempt: Attempt & {
      readonly ms: number;
      readonly error: { readonly value: unknown } | null;
      readonly signal: AbortSignal;
    },
  ): void;
  settled?(step: Settlement): void;
}

type Work = (info: StepInfo) => unknown;
type Branches = Readonly<Record<string, Branch>> | readonly Branch[];
type MapFunction = (ctx: Context, item: unknown, index: number) => unknown;
type Call = (...args: readonly unknown[]) => unknown;

/** The same workflow, with a context that is watched: its own code knows nothing of it. */
export function watching<Input, Output>(
  { name, definition: { body, defaults, tags } }: Workflow<Input, Output>,
  watch: (ctx: Context, input: Input) => Context,
): Workflow<Input, Output> {
  const call = body as (ctx: Context, input: Input) => Output;
  return durable(name, (ctx, input: Input) => call(watch(ctx, input), input), {
    ...defaults,
    ...(tags !== undefined && { tags }),
  });
}

/** The same context with watchers, which also see the branches it opens. */
export function watched(ctx: Context, watchers: readonly Watcher[], path = ""): Context {
  const counts = new Map<string, number>();
  const keyOf = (name: string): string => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return `${path}${name}${count === 1 ? "" : `#${count}`}`;
  };
  // A wrapper cannot keep overloads; the returned Context type has them.
  const inner = ctx as unknown as Record<"step" | "suspend" | "sleep" | "parallel" | "race" | "map", Call>;
  const group = (kind: "parallel" | "race", branches: Branches, options: { name?: string } = {}): unknown => {
    const key = keyOf(options.name ?? kind);
    const hear =
      (branch: Branch, name: string): Branch =>
      (c) =>
        branch(watched(c, watchers, `${key}[${name}]/`));
    const heard = Array.isArray(branches)
      ? branches.map((branch, index) => hear(branch as Branch, String(index)))
      : Object.fromEntries(Object.entries(branches).map(([name, branch]) => [name, hear(branch, name)]));
    return inner[kind](heard, options);
  };
  return Object.assign(Object.create(ctx) as Context, {
    step: (name: string, work: Work, options?: unknown) => {
      const key = keyOf(name);
      let ran = false;
      const settled = (outcome: Settlement["outcome"]): void => {
        for (const watcher of watchers) watcher.settled?.({ key, ran, outcome });
      };
      const heard = (info: StepInfo): unknown => {
        ran = true;
        return attempt(key, work, info, watchers);
      };
      const promise = inner.step(name, heard, options) as Promise<unknown>;
      promise.then(
        (value) => settled({ ok: true, value }),
        (error: unknown) => settled({ ok: false, error }),
      );
      return promise;
    },
    suspend: (name: string, options?: unknown) => (keyOf(name), inner.suspend(name, options)),
    sleep: (until: unknown, options?: { name?: string }) => (
      keyOf(options?.name ?? "sleep"),
      inner.sleep(until, options)
    ),
    parallel: (branches: Branches, options?: { name?: string }) => group("parallel", branches, options),
    race: (branches: Branches, options?: { name?: string }) => group("race", branches, options),
    map: (items: readonly unknown[], fn: MapFunction, options: MapOptions<unknown> = {}) => {
      const key = keyOf(options.name ?? "map");
      const heard: MapFunction = (c, item, index) => {
        const name = options.key?.(item, index) ?? String(index);
        return fn(watched(c, watchers, `${key}[${name}]/`), item, index);
      };
      return inner.map(items, heard, options);
    },
  });
}

async function attempt(
  key: string,
  work: Work,
  info: StepInfo,
  watchers: readonly Watcher[],
): Promise<unknown> {
  const { attempt, idempotencyKey, signal } = info;
  const about = { key, attempt, idempotencyKey };
  const startedAt = performance.now();
  const ended = (error: { value: unknown } | null): void => {
    for (const watcher of watchers)
      watcher.ended?.({ ...about, ms: performance.now() - startedAt, error, signal });
  };
  for (const watcher of watchers) watcher.began?.(about);
  try {
    const value = await work(info);
    ended(null);
    return value;
  } catch (error) {
    ended({ value: error });
    throw error;
  }
}
