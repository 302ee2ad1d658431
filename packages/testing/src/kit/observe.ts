/**
 * A context that tells what is asked of it. It needs no list of the context's methods: whatever function is
 * handed to one of them is a branch when it is called with a context, and a step's body otherwise.
 *
 * O1. An observer only listens: results, order and errors are the context's own.
 * O2. Keys are counted as the library counts them, for reading; a body is told its real key.
 */

import type { Context, StepInfo } from "@durable/core";

export interface Observer {
  /** The workflow asks for something: `step parallel[credit]/pull`. */
  called?(what: string): void;
  /** It was given a promise for it, under the key that was counted here. */
  made?(ctx: Context, key: string, result: unknown, method: string): void;
  /** Calls a branch, with the observed context; its keys begin with `path`. */
  branch(work: () => unknown, path: string): unknown;
  /** Calls the body of a step, whose key is said by the library; `counted` is what was counted here. */
  body(key: string, info: StepInfo | null, work: (info: unknown) => unknown, counted: string): unknown;
}

type AnyFunction = (...args: readonly unknown[]) => unknown;

export function observed(ctx: Context, observer: Observer, path = ""): Context {
  const counts = new Map<string, number>();
  const wrappers = new Map<string, AnyFunction>();
  const keyOf = (name: string): string => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return `${path}${name}${count === 1 ? "" : `#${count}`}`;
  };
  const method =
    (name: string, original: AnyFunction): AnyFunction =>
    (...args) => {
      const key = keyOf(nameOf(name, args));
      observer.called?.(`${name} ${key}${detailOf(args[0])}`);
      const result = Reflect.apply(
        original,
        ctx,
        args.map((argument, index) => withFunctions(observer, key, argument, index)),
      );
      observer.made?.(ctx, key, result, name);
      return result;
    };
  return new Proxy(ctx, {
    get: (target, property): unknown => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function" || typeof property !== "string") return value;
      const known = wrappers.get(property) ?? method(property, value as AnyFunction);
      wrappers.set(property, known);
      return known;
    },
  });
}

/** The name it is given, by argument or by option; else the method's own. */
function nameOf(method: string, args: readonly unknown[]): string {
  if (method !== "sleep" && typeof args[0] === "string") return args[0];
  const options = args.at(-1);
  return isRecord(options) && typeof options["name"] === "string" ? options["name"] : method;
}

/** What else tells two calls apart: the names of branches. */
function detailOf(first: unknown): string {
  return isBranches(first) && !Array.isArray(first) ? ` of ${Object.keys(first).join(", ")}` : "";
}

function withFunctions(observer: Observer, key: string, argument: unknown, index: number): unknown {
  if (typeof argument === "function") return heard(observer, key, "", argument as AnyFunction);
  if (index !== 0 || !isBranches(argument)) return argument;
  const entries = Object.entries(argument).map(([name, branch]): [string, AnyFunction] => [
    name,
    heard(observer, key, name, branch),
  ]);
  return Array.isArray(argument) ? entries.map(([, branch]) => branch) : Object.fromEntries(entries);
}

function heard(observer: Observer, key: string, name: string, work: AnyFunction): AnyFunction {
  return (...args) => {
    const [first, ...rest] = args;
    if (!isContext(first)) {
      const info = isInfo(first) ? first : null;
      const run = (given: unknown): unknown => (args.length === 0 ? work() : work(given ?? first, ...rest));
      return observer.body(info?.key ?? key, info, run, key);
    }
    const path = `${key}[${name}]/`;
    return observer.branch(() => work(observed(first, observer, path), ...rest), path);
  };
}

function isContext(value: unknown): value is Context {
  return isRecord(value) && typeof value["step"] === "function" && typeof value["suspend"] === "function";
}

function isInfo(value: unknown): value is StepInfo {
  return isRecord(value) && "idempotencyKey" in value;
}

function isBranches(value: unknown): value is Record<string, AnyFunction> | readonly AnyFunction[] {
  if (!isRecord(value)) return false;
  const members = Object.values(value);
  return members.length > 0 && members.every((member) => typeof member === "function");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
