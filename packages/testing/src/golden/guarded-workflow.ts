/** A workflow whose work cannot run: whoever asks for a result that is not recorded is told on. */

import type { AnyWorkflow, Context } from "@durable/core";

type Anything = (...args: readonly unknown[]) => unknown;
type OnWork = (key: string, kind: "step" | "stream") => void;

/** The same code; `ran` hears the key of the first body that would begin, which then never ends. */
export function guarded({ name, definition }: AnyWorkflow, ran: OnWork): AnyWorkflow {
  const body: typeof definition.body = (ctx, input) => definition.body(guard(ctx, ran) as never, input);
  return { name, definition: { ...definition, body } };
}

/** What methods of a context are called with, so that nothing in it can work. */
const shields: Readonly<Record<string, (args: readonly unknown[], ran: OnWork) => readonly unknown[]>> = {
  step: ([name, work, options, ...rest], ran) => [
    name,
    idle(work, "step", ran),
    undecided(options, ran),
    ...rest,
  ],
  stream: ([name, producer, ...rest], ran) => [name, idle(producer, "stream", ran), ...rest],
  // Groups hand contexts of their own to their branches, so those are guarded as well.
  parallel: ([branches, ...rest], ran) => [each(branches, ran), ...rest],
  race: ([branches, ...rest], ran) => [each(branches, ran), ...rest],
  map: ([items, fn, ...rest], ran) => [items, branch(fn, ran), ...rest],
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

/** Work that only tells that it was asked for. What is no function is for the library to refuse. */
function idle(work: unknown, kind: "step" | "stream", ran: OnWork): unknown {
  if (typeof work !== "function") return work;
  return ({ key }: { readonly key: string }): Promise<never> => {
    ran(key, kind);
    return new Promise<never>(() => {});
  };
}

/** To find out what became of an uncertain step is work, too. */
function undecided(options: unknown, ran: OnWork): unknown {
  const { onUncertain } = (options ?? {}) as { readonly onUncertain?: unknown };
  if (typeof onUncertain !== "function") return options;
  return { ...(options as object), onUncertain: idle(onUncertain, "step", ran) };
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

/** A child is a run of its own: its keys are told below its name. */
function below(workflow: unknown, ran: OnWork): unknown {
  const { name, definition } = (workflow ?? {}) as Partial<AnyWorkflow>;
  if (name === undefined || typeof definition?.body !== "function") return workflow;
  return guarded({ name, definition }, (key, kind) => ran(`${name}/${key}`, kind));
}
