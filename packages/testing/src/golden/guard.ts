/** A workflow whose steps cannot run: whoever asks for a result that is not recorded is told on. */

import type { AnyWorkflow, Context, StepInfo } from "@durable/core";

type Anything = (...args: readonly unknown[]) => unknown;

/** The same code; `ran` hears the key of the first body that would begin, which then never ends. */
export function guarded({ name, definition }: AnyWorkflow, ran: (key: string) => void): AnyWorkflow {
  const body: typeof definition.body = (ctx, input) => definition.body(guard(ctx, ran) as never, input);
  return { name, definition: { ...definition, body } };
}

/** Groups hand contexts of their own to their branches, so those are guarded as well. */
const groups: ReadonlySet<unknown> = new Set(["parallel", "race", "map"]);

function guard(ctx: Context, ran: (key: string) => void): Context {
  const stub = ({ key }: StepInfo): Promise<never> => {
    ran(key);
    return new Promise<never>(() => {});
  };
  const inner = (argument: unknown): unknown => (isContext(argument) ? guard(argument, ran) : argument);
  const wrap = (given: unknown): unknown => {
    if (typeof given === "function") return (...args: unknown[]) => (given as Anything)(...args.map(inner));
    if (Array.isArray(given))
      return given.map((item: unknown) => (typeof item === "function" ? wrap(item) : item));
    if (typeof given !== "object" || given === null) return given;
    return Object.fromEntries(
      Object.entries(given).map(([name, item]) => [
        name,
        typeof item === "function" ? wrap(item) : (item as unknown),
      ]),
    );
  };
  return new Proxy(ctx, {
    get: (target, name) => {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function") return member;
      const method = member as Anything;
      if (name === "step")
        return (step: unknown, work: unknown, ...rest: unknown[]) =>
          method.call(target, step, typeof work === "function" ? stub : work, ...rest);
      if (groups.has(name)) return (...args: unknown[]) => method.apply(target, args.map(wrap));
      return method;
    },
  });
}

function isContext(value: unknown): value is Context {
  if (typeof value !== "object" || value === null) return false;
  const { step, suspend } = value as Partial<Context>;
  return typeof step === "function" && typeof suspend === "function";
}
