/** Metrics of storage calls: how long each takes, and how it ends. */

import { DurableError, type Storage } from "@durable/core";
import type { Meter } from "@opentelemetry/api";

/** The calls that are measured. Calls that wait for something (`changed`, `whenDue`) say nothing about the storage. */
const calls = new Set(
  (
    "append read readChapter list tally lease release claim note pause paused delete deleteUnchanged dropChapters revision takeTurn" +
    " limits.slots limits.read limits.swap limits.put limits.texts schedules.get schedules.list schedules.put schedules.delete"
  ).split(" "),
);

/** From a fifth of a millisecond, as SQLite takes, to the time limit of a statement. */
const seconds = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30];

type Call = (...given: unknown[]) => unknown;

/** The same storage, with its calls measured. */
export function measuredStorage<S extends Storage>(storage: S, meter: () => Meter): S {
  let made: ReturnType<Meter["createHistogram"]> | null = null;
  const record = (operation: string, from: number, error?: unknown): void => {
    made ??= meter().createHistogram("durable.storage.duration", {
      unit: "s",
      description: "How long a call to the storage took, by its outcome: ok, or the code of its error.",
      advice: { explicitBucketBoundaries: seconds },
    });
    const outcome = error === undefined ? "ok" : DurableError.is(error) ? error.code : "error";
    made.record((performance.now() - from) / 1_000, { operation, outcome });
  };
  const measured =
    (operation: string, call: Call): Call =>
    async (...given) => {
      const from = performance.now();
      try {
        const reply = await call(...given);
        record(operation, from);
        return reply;
      } catch (error) {
        record(operation, from, error);
        throw error;
      }
    };
  const around = <T extends object>(target: T, prefix: string): T => {
    const known = new Map<PropertyKey, unknown>();
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        const operation = `${prefix}${String(name)}`;
        if (operation === "limits" || operation === "schedules") {
          if (typeof value !== "object" || value === null) return value;
          if (!known.has(name)) known.set(name, around(value, `${operation}.`));
          return known.get(name);
        }
        if (typeof value !== "function" || name === "constructor") return value;
        const call = (value as Call).bind(target);
        if (!known.has(name)) known.set(name, calls.has(operation) ? measured(operation, call) : call);
        return known.get(name);
      },
    });
  };
  return around(storage, "");
}
