/**
 * A workflow whose work cannot run: a call without a recorded result is reported instead. Proven in
 * test/golden-work.test.ts.
 */

import type { AnyWorkflow, Context } from "@durable/core";

type Anything = (...args: readonly unknown[]) => unknown;
type OnWork = (key: string, kind: "step" | "stream") => void;

/** The same code; `ran` gets the key of the first body that would start, which then never settles. */
export function guarded({ name, definition }: AnyWorkflow, ran: OnWork): AnyWorkflow {
  const body: typeof definition.body = (ctx, input) => definition.body(guard(ctx, ran) as never, input);
  return { name, definition: { ...definition, body } };
}

/** Replaces the arguments of context methods, so that none of their functions can do work. */
const shields: Readonly<Record<string, (args: readonly unknown[], ran: OnWork) => readonly unknown[]>> = {
  step: ([name, work, options, ...rest], ran) => [
    name,
    idle(work, "step", ran),
    undecided(options, ran),
    ...rest,
  ],
  stream: ([name, producer, ...rest], ran) => [name, idle(producer, "stream", ran), ...rest],
  // Groups pass their own contexts to their branches, so those are guarded as well.
  parallel: ([branches, ...rest], ran) => [each(branches, ran), ...rest],
  race: ([branches, ...rest], ran) => [each(branches, ran), ...rest],
  map: ([items, fn, ...rest], ran) => [items, branch(fn, ran), ...rest],
  onCancel: ([fn, ...rest], ran) => [branch(fn, ran), ...rest],
  child: ([workflow, ...rest], ran) => [below(workflow, ran), ...rest],
};

function guard(ctx: Context, ran: OnWork): Context {
  return new Proxy(ctx, {
    get: (target, name) => {
      const member = Reflect.get(target, name) as unknown;
      const shield = Object.hasOwn(shields, name) ? shields[name as string] : undefined;
      if (typeof member !== "function" || shield === undefined) return member;
      return (...args: unknown[]) => (member as Anything).apply(target, [...shield(args, ran)]);
    },
  });
}

/** Work that only reports its call. The library refuses an argument that is not a function. */
function idle(work: unknown, kind: "step" | "stream", ran: OnWork): unknown {
  if (typeof work !== "function") return work;
  const told = ({ key }: { readonly key: string }): Promise<never> => {
    ran(key, kind);
    return new Promise<never>(() => {});
  };
  // The library knows renamed work by its source text.
  return Object.assign(told, { toString: () => String(work) });
}

/** Resolving an uncertain step is work, too, and so is undoing one. */
function undecided(options: unknown, ran: OnWork): unknown {
  const given = { ...((options ?? {}) as Record<string, unknown>) };
  for (const name of ["onUncertain", "compensate"])
    if (typeof given[name] === "function") given[name] = idle(given[name], "step", ran);
  return options === undefined ? options : given;
}

function branch(fn: unknown, ran: OnWork): unknown {
  if (typeof fn !== "function") return fn;
  return (ctx: Context, ...rest: unknown[]): unknown => (fn as Anything)(guard(ctx, ran), ...rest);
}

function each(branches: unknown, ran: OnWork): unknown {
  if (Array.isArray(branches)) return branches.map((fn: unknown) => branch(fn, ran));
  if (typeof branches !== "object" || branches === null) return branches;
  return Object.fromEntries(Object.entries(branches).map(([name, fn]) => [name, branch(fn, ran)]));
}

/** A child is a run of its own, so its keys are reported below its name. */
function below(workflow: unknown, ran: OnWork): unknown {
  const { name, definition } = (workflow ?? {}) as Partial<AnyWorkflow>;
  if (name === undefined || typeof definition?.body !== "function") return workflow;
  return guarded({ name, definition }, (key, kind) => ran(`${name}/${key}`, kind));
}
