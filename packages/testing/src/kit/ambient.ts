/**
 * Reads of clock and randomness that bypass `ctx`. While crash tests run, the globals are wrapped, and each
 * read is reported to the code it happens in: an error in a workflow, allowed in a step.
 *
 * A1. Outside of a workflow or a step under test, the wrappers do nothing.
 * A2. The original globals are restored when the last test has ended, also if tests overlap.
 * A3. Inside, `Date` shows virtual time.
 *
 * Proven in test/kit-parts.test.ts.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { calledAt } from "./call-site.ts";

/** Clocks and random sources that replay cannot see. */
export type AmbientName =
  | "Date.now"
  | "new Date"
  | "Date"
  | "Temporal.Now"
  | "Intl.DateTimeFormat"
  | "performance.now"
  | "process.hrtime"
  | "process.uptime"
  | "Math.random"
  | "crypto.randomUUID"
  | "crypto.getRandomValues"
  | "crypto.randomBytes"
  | "crypto.randomInt"
  | "crypto.randomFill";

/** The code that is running: a workflow under test, or one of its steps. */
export interface Place {
  now(): number;
  /**
   * Called for each read; absent in a step, where clock and randomness are allowed. `error` has the stack.
   */
  readonly read?: ((name: AmbientName, error: Error) => void) | undefined;
  /** Called for work of a fake that only a step may do; absent in a step. */
  readonly unrecorded?: ((kind: UnrecordedKind, name: string, error: Error) => void) | undefined;
}

/** Work that is done again in every pass over a workflow, unless it is in a step. */
export type UnrecordedKind = "effect" | "model";

export const place = new AsyncLocalStorage<Place>();

type Method = (this: unknown, ...args: readonly unknown[]) => unknown;

// Not in every version of Node.
const { Temporal } = globalThis as { readonly Temporal?: { readonly Now: object } };
const temporal = ["instant", "plainDateISO", "plainDateTimeISO", "plainTimeISO", "zonedDateTimeISO"];

const methods: readonly (readonly [AmbientName, object, string])[] = [
  ["Math.random", Math, "random"],
  // Before its owner, whose wrapper has a copy of it.
  ["process.hrtime", process.hrtime, "bigint"],
  ["process.hrtime", process, "hrtime"],
  ["process.uptime", process, "uptime"],
  ...(Temporal === undefined ? [] : temporal.map((name) => ["Temporal.Now", Temporal.Now, name] as const)),
  ["performance.now", performance, "now"],
  ["crypto.randomUUID", crypto, "randomUUID"],
  ["crypto.getRandomValues", crypto, "getRandomValues"],
  // The functions of the module are not methods of the global.
  ["crypto.randomUUID", nodeCrypto, "randomUUID"],
  ["crypto.randomBytes", nodeCrypto, "randomBytes"],
  ["crypto.randomInt", nodeCrypto, "randomInt"],
  ["crypto.randomFill", nodeCrypto, "randomFill"],
  ["crypto.randomFill", nodeCrypto, "randomFillSync"],
];

// Globals exist once per process, and so does the count of the tests that need them wrapped.
const installed = { users: 0, restore: (): void => {} };

/** Wraps the globals; returns a function that restores them. */
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
  const restores = [
    wrapDate(),
    wrapFormat(),
    ...methods.map(([name, owner, property]) => wrap(name, owner, property)),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  };
}

function report(name: AmbientName, wrapper: (...args: never[]) => unknown): Place | undefined {
  const here = place.getStore();
  here?.read?.(name, calledAt(name, wrapper));
  return here;
}

function wrap(name: AmbientName, owner: object, property: string): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, property);
  const original = Reflect.get(owner, property) as Method;
  const value = function (this: unknown, ...args: readonly unknown[]): unknown {
    report(name, value);
    return Reflect.apply(original, this, args);
  };
  Object.assign(value, original);
  Object.defineProperty(owner, property, { value, configurable: true, writable: true, enumerable: true });
  return () => {
    // Another library's wrapper is left alone.
    if (Reflect.get(owner, property) !== value) return;
    if (own === undefined) Reflect.deleteProperty(owner, property);
    else Object.defineProperty(owner, property, own);
  };
}

/** A format without a date shows the present time. */
function wrapFormat(): () => void {
  const owner = Intl.DateTimeFormat.prototype;
  const own = Object.getOwnPropertyDescriptor(owner, "format") as PropertyDescriptor;
  const get = function (this: Intl.DateTimeFormat): Intl.DateTimeFormat["format"] {
    const original = own.get?.call(this) as Intl.DateTimeFormat["format"];
    const format: typeof original = (date) =>
      original(date ?? report("Intl.DateTimeFormat", format)?.now() ?? undefined);
    return format;
  };
  Object.defineProperty(owner, "format", { ...own, get });
  return () => void Object.defineProperty(owner, "format", own);
}

function wrapDate(): () => void {
  const original = globalThis.Date;
  const now = (): number => report("Date.now", now)?.now() ?? original.now();
  const apply = (): string => new original(report("Date", apply)?.now() ?? original.now()).toString();
  const construct = (target: DateConstructor, args: unknown[], by: new () => unknown): object =>
    Reflect.construct(
      target,
      args.length === 0 ? [report("new Date", construct)?.now() ?? original.now()] : args,
      by,
    ) as object;
  const wrapped: DateConstructor = new Proxy(original, {
    get: (target, property): unknown => (property === "now" ? now : Reflect.get(target, property)),
    apply,
    construct: construct as NonNullable<ProxyHandler<DateConstructor>["construct"]>,
  });
  globalThis.Date = wrapped;
  // Code that reads the constructor of a date expects the global one.
  original.prototype.constructor = wrapped;
  return () => {
    original.prototype.constructor = original;
    if (globalThis.Date === wrapped) globalThis.Date = original;
  };
}
