/**
 * A workflow whose work cannot run: a call without a recorded result is reported instead. Proven in
 * test/golden-work.test.ts.
 */

import type { AnyWorkflow, Context } from "@durable/core";
import type { AskedCall } from "./renames.ts";

type Anything = (...args: readonly unknown[]) => unknown;

/** What a guarded workflow reports. */
interface OnWork {
  /** A body would start. */
  work(key: string, kind: "step" | "stream"): void;
  /** The code makes a call that may be renamed. */
  asked(call: AskedCall): void;
}

/** The same code; `on.work` gets the key of each body that would start, which then never settles. */
export function guarded({ name, definition }: AnyWorkflow, on: OnWork): AnyWorkflow {
  const body: typeof definition.body = (ctx, input) => definition.body(guard(ctx, on) as never, input);
  return { name, definition: { ...definition, body } };
}

/** Replaces the arguments of context methods, so that none of their functions can do work. */
const shields: Readonly<Record<string, (args: readonly unknown[], on: OnWork) => readonly unknown[]>> = {
  step: ([name, work, options, ...rest], on) => [
    name,
    idle(work, "step", on),
    undecided(options, on),
    ...rest,
  ],
  stream: ([name, producer, ...rest], on) => [name, idle(producer, "stream", on), ...rest],
  // Groups pass their own contexts to their branches, so those are guarded as well.
  parallel: ([branches, ...rest], on) => [each(branches, on), ...rest],
  race: ([branches, ...rest], on) => [each(branches, on), ...rest],
  map: ([items, fn, ...rest], on) => [items, branch(fn, on), ...rest],
  onCancel: ([fn, ...rest], on) => [branch(fn, on), ...rest],
  child: ([workflow, ...rest], on) => [below(workflow, on), ...rest],
};

function guard(ctx: Context, on: OnWork): Context {
  return new Proxy(ctx, {
    get: (target, name) => {
      const member = Reflect.get(target, name) as unknown;
      const shield = Object.hasOwn(shields, name) ? shields[name as string] : undefined;
      if (typeof member !== "function" || shield === undefined) return member;
      return (...args: unknown[]) => {
        note(args, on);
        return (member as Anything).apply(target, [...shield(args, on)]);
      };
    },
  });
}

/** Steps, streams and children have their options in the third place, and the name of a child there or in its code. */
function note([first, , third]: readonly unknown[], on: OnWork): void {
  const { name: own, was } = (third ?? {}) as { readonly name?: unknown; readonly was?: unknown };
  const name =
    own ?? (typeof first === "string" ? first : (first as { readonly name?: unknown } | null)?.name);
  if (typeof name === "string") on.asked({ name, was: typeof was === "string" ? was : null });
}

/** Work that only reports its call. The library refuses an argument that is not a function. */
function idle(work: unknown, kind: "step" | "stream", on: OnWork): unknown {
  if (typeof work !== "function") return work;
  const told = ({ key }: { readonly key: string }): Promise<never> => {
    on.work(key, kind);
    return new Promise<never>(() => {});
  };
  // The library knows renamed work by its source text.
  return Object.assign(told, { toString: () => String(work) });
}

/** Resolving an uncertain step is work, too, and so is undoing one. */
function undecided(options: unknown, on: OnWork): unknown {
  const given = { ...((options ?? {}) as Record<string, unknown>) };
  for (const name of ["onUncertain", "compensate"])
    if (typeof given[name] === "function") given[name] = idle(given[name], "step", on);
  return options === undefined ? options : given;
}

function branch(fn: unknown, on: OnWork): unknown {
  if (typeof fn !== "function") return fn;
  return (ctx: Context, ...rest: unknown[]): unknown => (fn as Anything)(guard(ctx, on), ...rest);
}

function each(branches: unknown, on: OnWork): unknown {
  if (Array.isArray(branches)) return branches.map((fn: unknown) => branch(fn, on));
  if (typeof branches !== "object" || branches === null) return branches;
  return Object.fromEntries(Object.entries(branches).map(([name, fn]) => [name, branch(fn, on)]));
}

/** A child is a run of its own, so its keys are reported below its name. */
function below(workflow: unknown, on: OnWork): unknown {
  const { name, definition } = (workflow ?? {}) as Partial<AnyWorkflow>;
  if (name === undefined || typeof definition?.body !== "function") return workflow;
  return guarded({ name, definition }, { ...on, work: (key, kind) => on.work(`${name}/${key}`, kind) });
}
