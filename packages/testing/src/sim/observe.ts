/**
 * A Context that is looked over the shoulder: keys are worked out here, independently of the engine,
 * and all the code is given is noted in the order it is given.
 */

import type { Branch, Context, StepInfo } from "@durable/core";

export interface Onlooker {
  /** The code was given something under this key. */
  seen(ctx: Context, key: string, what: string): void;
  /** The work of a step starts; `expected` is its key as worked out here. Returns how to say what it gave. */
  starts(info: StepInfo, expected: string): (value: unknown) => void;
  /** A wait was made, and this token answers it. */
  waits(key: string, token: string): void;
}

export function observed(ctx: Context, onlooker: Onlooker, path = ""): Context {
  const counts = new Map<string, number>();
  const keyOf = (name: string): string => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return `${path === "" ? "" : `${path}/`}${name}${count === 1 ? "" : `#${count}`}`;
  };
  const note = <P extends Promise<unknown>>(key: string, promise: P): P => {
    promise.then(
      (value) => onlooker.seen(ctx, key, JSON.stringify(value) ?? "nothing"),
      (error: unknown) => onlooker.seen(ctx, key, `! ${codeOf(error)}`),
    );
    return promise;
  };
  const branch =
    (group: string) =>
    (fn: Branch, name: string | number): Branch =>
    (inner) =>
      fn(observed(inner, onlooker, `${group}[${name}]`));
  const watched = {
    step: (name: string, work: (info: StepInfo) => unknown, options?: object) => {
      const key = keyOf(name);
      const watchedWork = async (info: StepInfo): Promise<unknown> => {
        const gave = onlooker.starts(info, key);
        const value = await work(info);
        gave(value);
        return value;
      };
      return note(key, ctx.step(name, watchedWork, options));
    },
    suspend: (name: string, options?: object) => {
      const key = keyOf(name);
      const wait = ctx.suspend(name, options);
      if (wait.token !== "") onlooker.waits(key, wait.token);
      return note(key, wait);
    },
    sleep: (until: Parameters<Context["sleep"]>[0], options: { name?: string } = {}) =>
      note(keyOf(options.name ?? "sleep"), ctx.sleep(until, options)),
    parallel: (
      branches: Readonly<Record<string, Branch>> | readonly Branch[],
      options: { name?: string } = {},
    ) => ctx.parallel(branchesOf(branches, branch(keyOf(options.name ?? "parallel"))), options),
    race: (branches: Readonly<Record<string, Branch>>, options: { name?: string } = {}) =>
      ctx.race(
        branchesOf(branches, branch(keyOf(options.name ?? "race"))) as Readonly<Record<string, Branch>>,
        options,
      ),
  };
  return Object.assign(Object.create(ctx) as Context, watched);
}

function branchesOf(
  branches: Readonly<Record<string, Branch>> | readonly Branch[],
  wrap: (fn: Branch, name: string | number) => Branch,
): Readonly<Record<string, Branch>> | readonly Branch[] {
  if (Array.isArray(branches)) return (branches as readonly Branch[]).map(wrap);
  return Object.fromEntries(Object.entries(branches).map(([name, fn]) => [name, wrap(fn, name)]));
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : error.message;
}
