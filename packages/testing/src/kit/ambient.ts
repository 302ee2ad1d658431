/**
 * Clock and chance as code reaches for them without asking `ctx`. While crash tests run, the globals are
 * wrapped, and each read is told to the place it happens in: a workflow hears of it, a step does not mind.
 *
 * A1. Outside of a workflow or a step that is under test, the wrappers do nothing.
 * A2. What was there before is there again when the last test has ended, also if tests overlap.
 * A3. Inside, `Date` tells virtual time: thirty days of it have passed when thirty days were slept.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

export type AmbientName =
  | "Date.now"
  | "new Date"
  | "Date"
  | "Math.random"
  | "crypto.randomUUID"
  | "crypto.getRandomValues"
  | "crypto.randomBytes"
  | "crypto.randomInt"
  | "performance.now";

/** Whose code is running: that of a workflow under test, or of one of its steps. */
export interface Place {
  now(): number;
  /** Hears of a read; absent in a step, where clock and chance are welcome. `error` has the stack. */
  readonly read?: (name: AmbientName, error: Error) => void;
}

export const place = new AsyncLocalStorage<Place>();

type Method = (this: unknown, ...args: readonly unknown[]) => unknown;

const methods: readonly (readonly [AmbientName, object, string])[] = [
  ["Math.random", Math, "random"],
  ["performance.now", performance, "now"],
  ["crypto.randomUUID", crypto, "randomUUID"],
  ["crypto.getRandomValues", crypto, "getRandomValues"],
  // The module's own functions are no methods of the global.
  ["crypto.randomUUID", nodeCrypto, "randomUUID"],
  ["crypto.randomBytes", nodeCrypto, "randomBytes"],
  ["crypto.randomInt", nodeCrypto, "randomInt"],
];

// Globals are one per process, and so is the count of those who want them wrapped.
const installed = { users: 0, restore: (): void => {} };

/** Wraps the globals; returns the way to give them back. */
export function watchAmbient(): () => void {
  if (installed.users++ === 0) installed.restore = install();
  let given = false;
  return () => {
    if (given) return;
    given = true;
    if (--installed.users === 0) installed.restore();
  };
}

function install(): () => void {
  const restores = [wrapDate(), ...methods.map(([name, owner, property]) => wrap(name, owner, property))];
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  };
}

function report(name: AmbientName): Place | undefined {
  const here = place.getStore();
  here?.read?.(name, new Error(name));
  return here;
}

function wrap(name: AmbientName, owner: object, property: string): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, property);
  const original = Reflect.get(owner, property) as Method;
  const value = function (this: unknown, ...args: readonly unknown[]): unknown {
    report(name);
    return Reflect.apply(original, this, args);
  };
  Object.defineProperty(owner, property, { value, configurable: true, writable: true, enumerable: true });
  return () => {
    // Somebody else's wrapper is left alone.
    if (Reflect.get(owner, property) !== value) return;
    if (own === undefined) Reflect.deleteProperty(owner, property);
    else Object.defineProperty(owner, property, own);
  };
}

function wrapDate(): () => void {
  const original = globalThis.Date;
  const now = (): number => report("Date.now")?.now() ?? original.now();
  const wrapped: DateConstructor = new Proxy(original, {
    get: (target, property): unknown => (property === "now" ? now : Reflect.get(target, property)),
    apply: () => new original(report("Date")?.now() ?? original.now()).toString(),
    construct: (target, args: unknown[], by) =>
      Reflect.construct(
        target,
        args.length === 0 ? [report("new Date")?.now() ?? original.now()] : args,
        by,
      ) as object,
  });
  globalThis.Date = wrapped;
  // Code that asks a date for its constructor expects the one it knows by name.
  original.prototype.constructor = wrapped;
  return () => {
    original.prototype.constructor = original;
    if (globalThis.Date === wrapped) globalThis.Date = original;
  };
}
