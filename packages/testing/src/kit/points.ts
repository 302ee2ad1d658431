/**
 * The I/O of a run as a list of points for faults, each with what was being written or read. Proven in
 * test/kit-report.test.ts.
 */

import type { Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { optionalCalls, type Fault, type Operation } from "../faulty-storage.ts";

/** One read or write of the run without faults: the `index`-th of its kind, from 1. */
export interface Point {
  readonly operation: Operation;
  readonly index: number;
  /** What was written or asked for: `step.completed draft`. */
  readonly what: string;
}

interface Batch {
  readonly entries: readonly { readonly kind: string; readonly key?: string; readonly wait?: string }[];
}

/** The same storage; `heard` is called before each I/O. */
export function tapped(storage: Storage, runId: string, heard: (point: Point) => void): Storage {
  const counts = new Map<Operation, number>();
  const waits = new Map<string, string>();
  const note = (operation: Operation, what: string): void => {
    const index = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, index);
    heard({ operation, index, what });
  };
  return {
    ...storage,
    append: (request) => {
      note("append", written(request, waits) + of(request.head.runId, runId));
      return storage.append(request);
    },
    read: (locator, from = 0) => {
      note("read", from === 0 ? "whole journal" : `journal from batch ${from + 1}`);
      return storage.read(locator, from);
    },
    lease: (locator, owner, ttlMs, slots) => {
      note("lease", ttlMs === 0 ? "let go" : "take or extend");
      return storage.lease(locator, owner, ttlMs, slots);
    },
    release: (locator, owner, quietMs) => {
      note("release", "give back");
      return storage.release(locator, owner, quietMs);
    },
    ...optionalCalls(storage, (operation, apply) => {
      note(operation, optional[operation] ?? operation);
      return apply();
    }),
  };
}

const optional: Readonly<Partial<Record<Operation, string>>> = {
  read: "chapter",
  note: "blocked",
  dropChapters: "drop chapters",
};

/** Runs that a step started, or forked, write to the same storage. */
function of(runId: string, own: string): string {
  return runId === own ? "" : ` (run ${runId})`;
}

function written({ batch }: AppendRequest, waits: Map<string, string>): string {
  const { entries } = JSON.parse(batch) as Batch;
  const parts = entries.map(({ kind, key, wait }) => {
    if (wait !== undefined && key !== undefined) waits.set(wait, key);
    const name = key ?? waits.get(wait ?? "");
    return name === undefined ? kind : `${kind} ${name}`;
  });
  // The entry that opens a group comes last, so that it is the first to be cut when there is no room.
  return parts.toSorted((a, b) => rank(a) - rank(b)).join(", ");
}

function rank(part: string): number {
  return /^(?:parallel|race)\./.test(part) ? 1 : 0;
}

/** Faults in words that fit into a column head. */
export const heads: Readonly<Record<Fault, string>> = {
  "crash-before": "dies before",
  "crash-after": "dies after",
  "crash-then-apply": "lands late",
  "lose-reply": "reply lost",
  "lose-request": "request lost",
  conflict: "refused",
};

/** `append 9, dies before` */
export function whereOf({ point, fault }: { readonly point: Point; readonly fault: Fault }): string {
  return `${point.operation} ${point.index}, ${heads[fault]}`;
}
