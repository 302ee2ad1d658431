/**
 * The async context of the runtime (`AsyncLocalStorage`), where it has one. Used for three things: a step's work sees the
 * context in which it was called, an error that nothing caught is traced to the run whose code caused it, and code
 * that is defined once finds the run in which it is called.
 * Nothing that is recorded depends on it.
 */

/** A run whose code may be running. */
export interface Owner {
  readonly runId: string;
  /** The key of the step or stream whose work is running; `null` in the workflow itself. */
  readonly step: string | null;
  /** The path of the branch whose code is running. */
  readonly path: string;
  /** The `Context` of that branch. */
  readonly context?: unknown;
  /** The `StepInfo` of the attempt whose work is running. */
  readonly info?: unknown;
  /** An error of this run's code that nothing caught. */
  blame(error: unknown): void;
}

interface Local<T> {
  run<R>(store: T, fn: () => R): R;
  getStore(): T | undefined;
  enterWith(store: T | undefined): void;
}

interface AsyncHooks {
  readonly AsyncLocalStorage?: new <T>() => Local<T>;
  readonly AsyncResource?: new (type: string) => { runInAsyncScope<R>(fn: () => R): R };
}

type Runtime = { process?: { getBuiltinModule?: (name: string) => AsyncHooks | undefined } };

function find(): AsyncHooks {
  try {
    return (globalThis as Runtime).process?.getBuiltinModule?.("node:async_hooks") ?? {};
  } catch {
    return {};
  }
}

const { AsyncLocalStorage, AsyncResource } = find();
const local = AsyncLocalStorage === undefined ? null : new AsyncLocalStorage<Owner>();

/** False where the runtime cannot tell which code is running. */
export const tellsOwner = local !== null;

/** Runs a function in the present context, later. */
export type InContext = <R>(fn: () => R) => R;

/** Keeps the present context. A resource does, at a tenth of the cost of `AsyncLocalStorage.snapshot`. */
export const snapshot = (): InContext => {
  if (AsyncResource === undefined) return (fn) => fn();
  const resource = new AsyncResource("durable");
  return (fn) => resource.runInAsyncScope(fn);
};

/** Runs code of a run, and all that it starts, in the name of its owner. */
export const runAs = <R>(owner: Owner, fn: () => R): R => (local === null ? fn() : local.run(owner, fn));

/** The owner of the code that is running now; `undefined` outside of runs, and where the runtime cannot tell. */
export const ownerNow = (): Owner | undefined => local?.getStore();

/** Code that runs from here on belongs to no run, up to the end of the surrounding context. */
export const leave = (): void => local?.enterWith(undefined);
