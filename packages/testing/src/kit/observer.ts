/**
 * A context that reports the calls made on it. A function passed to one of its methods is a branch when it is
 * called with a context, and a body otherwise; the methods that differ are named below.
 *
 * O1. An observer only listens: results, order and errors are the context's own.
 * O2. Keys are counted as the library counts them, for display; a body gets its real key.
 *
 * Proven in test/kit-parts.test.ts.
 */

import type { AnyWorkflow, Context, StepInfo } from "@durable/core";

/** The body of a step, or the producer of a stream. `counted` is the key that was counted here. */
type CallBody = (
  key: string,
  info: StepInfo | null,
  work: (info: unknown) => unknown,
  counted: string,
) => unknown;

/** Gets the calls that a workflow makes on an observed context. */
export interface Observer {
  /** The workflow makes a call: `step parallel[credit]/pull`. The stack of the call is above `wrapper`. */
  called?(what: string, wrapper: AnyFunction): void;
  /** The call returned a promise, under the key that was counted here. */
  made?(ctx: Context, key: string, result: unknown, method: string): void;
  /** Calls a branch, with the observed context; its keys begin with `path`. */
  branch(work: () => unknown, path: string): unknown;
  /** Calls the body of a step, with the key from the library. */
  readonly body: CallBody;
  /** Calls the producer of a stream; `body` is used when absent. */
  readonly stream?: CallBody;
  /** Calls the function that resolves an uncertain step. */
  find?(key: string, work: () => unknown): unknown;
  /** Returns the workflow to run as a child under this key: the same, or an observed one. */
  child?(key: string, workflow: AnyWorkflow): AnyWorkflow;
}

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** The same context; every call on it is reported to the observer. */
export function observed(ctx: Context, observer: Observer, path = ""): Context {
  const counts = new Map<string, number>();
  const wrappers = new Map<string, AnyFunction>();
  const keyOf = (name: string): string => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return `${path}${name}${count === 1 ? "" : `#${count}`}`;
  };
  const method = (name: string, original: AnyFunction): AnyFunction => {
    const wrapper: AnyFunction = (...args) => {
      const key = keyOf(nameOf(name, args));
      observer.called?.(`${name} ${key}${detailOf(args[0])}`, wrapper);
      const result = Reflect.apply(original, ctx, withObserver(observer, { key, method: name }, args));
      observer.made?.(ctx, key, result, name);
      return result;
    };
    return wrapper;
  };
  return new Proxy(ctx, {
    get: (target, property): unknown => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function" || typeof property !== "string") return value;
      // A report is not a call that others wait for, and its argument is not a name.
      if (property === "report") return (...args: readonly unknown[]) => Reflect.apply(value, target, args);
      const known = wrappers.get(property) ?? method(property, value as AnyFunction);
      wrappers.set(property, known);
      return known;
    },
  });
}

/** The name from the argument or the option; otherwise the method's own, or the child's. */
function nameOf(method: string, args: readonly unknown[]): string {
  if (method !== "sleep" && typeof args[0] === "string") return args[0];
  if (method === "tag") return "#tag";
  const options = method === "child" || method === "spawn" ? [args[2], args[0]] : [args.at(-1)];
  const named = options.find((one) => isRecord(one) && typeof one["name"] === "string");
  return (named as { readonly name: string } | undefined)?.name ?? method;
}

/** The names of branches, which also distinguish calls. */
function detailOf(first: unknown): string {
  return isBranches(first) && !Array.isArray(first) ? ` of ${Object.keys(first).join(", ")}` : "";
}

interface Called {
  readonly key: string;
  readonly method: string;
}

/** The arguments of a call, with every function in them observed. */
function withObserver(observer: Observer, { key, method }: Called, args: readonly unknown[]): unknown[] {
  const [first, second, third, ...rest] = args;
  switch (method) {
    case "child":
      return isWorkflow(first) && observer.child !== undefined
        ? [observer.child(key, first), ...args.slice(1)]
        : [...args];
    case "map":
      return [first, eachItem(observer, key, second, third), ...args.slice(2)];
    case "stream":
      return [
        first,
        isFunction(second) ? body(observer.stream ?? observer.body, key, second) : second,
        ...args.slice(2),
      ];
    case "onCancel":
      return [isFunction(first) ? cleanUp(observer, key, first) : first, ...args.slice(1)];
    case "step":
      return [
        first,
        isFunction(second) ? body(observer.body, key, second) : second,
        withUndo(observer, key, withFind(observer, key, third)),
        ...rest,
      ];
    default:
      return args.map((argument, index) => withFunctions(observer, key, argument, index));
  }
}

function withFunctions(observer: Observer, key: string, argument: unknown, index: number): unknown {
  if (isFunction(argument)) return heard(observer, key, "", argument);
  if (index !== 0 || !isBranches(argument)) return argument;
  const entries = Object.entries(argument).map(([name, branch]): [string, AnyFunction] => [
    name,
    heard(observer, key, name, branch),
  ]);
  return Array.isArray(argument) ? entries.map(([, branch]) => branch) : Object.fromEntries(entries);
}

/** A function that is called with a context is a branch. */
function heard(observer: Observer, key: string, name: string, work: AnyFunction): AnyFunction {
  return (...args) => {
    const [first, ...rest] = args;
    if (!isContext(first)) return body(observer.body, key, work)(...args);
    const path = `${key}[${name}]/`;
    return observer.branch(() => work(observed(first, observer, path), ...rest), path);
  };
}

/** The function of a map: its branches are named by the key of their item, or by its index. */
function eachItem(observer: Observer, key: string, work: unknown, options: unknown): unknown {
  if (!isFunction(work)) return work;
  const named = isRecord(options) && isFunction(options["key"]) ? options["key"] : null;
  return (ctx: unknown, item: unknown, index: number): unknown =>
    heard(observer, key, String(named === null ? index : named(item, index)), work)(ctx, item, index);
}

function body(call: CallBody, key: string, work: AnyFunction): AnyFunction {
  return (...args) => {
    const [first, ...rest] = args;
    const info = isInfo(first) ? first : null;
    const run = (given: unknown): unknown => (args.length === 0 ? work() : work(given ?? first, ...rest));
    return call(info?.key ?? key, info, run, key);
  };
}

function withFind(observer: Observer, key: string, options: unknown): unknown {
  if (!isRecord(options) || !isFunction(options["onUncertain"]) || observer.find === undefined)
    return options;
  const find = options["onUncertain"];
  return { ...options, onUncertain: (uncertain: unknown) => observer.find?.(key, () => find(uncertain)) };
}

/** A compensation is a step of its own. */
function withUndo(observer: Observer, key: string, options: unknown): unknown {
  if (!isRecord(options) || !isFunction(options["compensate"])) return options;
  return { ...options, compensate: body(observer.body, `${key}/compensate`, options["compensate"]) };
}

/** A clean-up is a branch whose keys are below its own. */
function cleanUp(observer: Observer, key: string, work: AnyFunction): AnyFunction {
  return (ctx, ...rest) =>
    observer.branch(() => work(observed(ctx as Context, observer, `${key}/`), ...rest), `${key}/`);
}

function isContext(value: unknown): value is Context {
  return isRecord(value) && typeof value["step"] === "function" && typeof value["suspend"] === "function";
}

function isWorkflow(value: unknown): value is AnyWorkflow {
  return isRecord(value) && isRecord(value["definition"]) && isFunction(value["definition"]["body"]);
}

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === "function";
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
