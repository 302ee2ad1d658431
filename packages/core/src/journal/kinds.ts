/**
 * One table of entry kinds: each row has all that other files need to know about a kind.
 * A new kind is a row here, its fields in entry.ts, and the code that reads it.
 */

import type { Json } from "../values/codec/tags.ts";
import type { CallKind, Entry, Fact, FactKind, Turn } from "./entry.ts";

interface Traits {
  /** The kind of call it belongs to. Absent for facts of the whole run, and for answers, which may be early. */
  readonly call?: CallKind;
  /** The field that holds a user's value. Without it the entry is corrupt, unless `optional`. */
  readonly value?: "input" | "output" | "value" | "error" | "chunks" | "note" | "issues" | "reason";
  readonly optional?: true;
  /** It gives the workflow the outcome of its call. */
  readonly settles?: true;
  /** It is the result of an attempt or a child: work that was paid for, and is recorded even when the run is blocked. */
  readonly paid?: true;
  /** It ends the run. */
  readonly ends?: true;
  /** A timer wrote it: an answer that is recorded already goes first. */
  readonly timer?: true;
  /** Once durable, it does not let the workflow continue. */
  readonly quiet?: true;
  /** A fork inherits it although it settles nothing: always, or with the outcome of its call. */
  readonly inherited?: "always" | "settled";
}

const kinds = {
  "run.started": { value: "input" },
  "run.forked": { value: "input", optional: true },
  "run.continued": { value: "input" },
  "run.queued": { value: "input", optional: true },
  "run.suspended": {},
  "run.completed": { value: "output", ends: true },
  "run.failed": { value: "error", ends: true },
  "run.cancelled": { value: "reason", optional: true, ends: true },
  "run.failing": { value: "error" },
  "run.cancelling": { value: "reason", optional: true },
  "cleanup.opened": { call: "cleanup", quiet: true, inherited: "always" },
  "cleanup.started": { call: "cleanup", quiet: true },
  "cleanup.completed": { call: "cleanup", settles: true },
  "cleanup.failed": { call: "cleanup", value: "error", settles: true },
  "run.paused": { value: "reason", optional: true },
  "run.unpaused": {},
  "run.retried": {},
  "run.regressed": {},
  "run.scored": { value: "note", optional: true },
  "step.started": { call: "step" },
  "step.progress": { call: "step", value: "value", paid: true, quiet: true },
  "step.completed": { call: "step", value: "value", paid: true, settles: true },
  "step.failed": { call: "step", value: "error", paid: true, settles: true },
  "attempt.failed": { call: "step", value: "error", paid: true, inherited: "settled" },
  "stream.chunks": {
    call: "stream",
    value: "chunks",
    paid: true,
    quiet: true,
    inherited: "settled",
  },
  "stream.completed": {
    call: "stream",
    value: "value",
    optional: true,
    paid: true,
    settles: true,
  },
  "stream.failed": { call: "stream", value: "error", paid: true, settles: true },
  "child.opened": { call: "child", inherited: "settled" },
  "child.completed": { call: "child", value: "value", paid: true, settles: true },
  "child.failed": { call: "child", value: "error", paid: true, settles: true },
  "child.closed": { call: "child", quiet: true },
  "spawn.opened": { call: "spawn", inherited: "settled" },
  "spawn.started": { call: "spawn", paid: true, settles: true },
  "spawn.failed": { call: "spawn", value: "error", paid: true, settles: true },
  "tag.set": { call: "tag", quiet: true, inherited: "always" },
  "sleep.opened": { call: "sleep", quiet: true, inherited: "always" },
  "sleep.fired": { call: "sleep", settles: true, timer: true },
  "suspend.opened": { call: "suspend", value: "note", quiet: true, inherited: "settled" },
  "suspend.answered": { value: "value" },
  "suspend.resolved": { call: "suspend", value: "value", optional: true, settles: true },
  "suspend.rejected": { call: "suspend", value: "issues", quiet: true },
  "suspend.expired": { call: "suspend", value: "value", optional: true, settles: true, timer: true },
  "suspend.closed": { call: "suspend", quiet: true },
  "message.sent": { value: "value" },
  "report.set": { call: "report", value: "value", quiet: true, inherited: "always" },
  "parallel.opened": { call: "parallel", inherited: "always" },
  "race.opened": { call: "race", inherited: "always" },
} as const satisfies Record<FactKind, Traits>;

type Settling = {
  [K in FactKind]: (typeof kinds)[K] extends { readonly settles: true } ? K : never;
}[FactKind];

/** The outcome of a call, as the workflow gets it. */
export type Settlement<V = Json> = Extract<Entry<V>, { kind: Settling }>;

/** The row of an entry's kind. */
export function traitsOf({ kind }: Pick<Fact<unknown>, "kind">): Traits {
  return kinds[kind];
}

/** True for every kind that this build knows. */
export function isKind(kind: unknown): kind is FactKind {
  return typeof kind === "string" && Object.hasOwn(kinds, kind);
}

export function isSettlement<V>(entry: Entry<V>): entry is Settlement<V> {
  return traitsOf(entry).settles === true;
}

/** The kind of call that an entry belongs to. */
export function callKind(fact: Extract<Fact<unknown>, { key: string }>): CallKind {
  return fact.kind === "attempt.failed" && fact.stream === true ? "stream" : kinds[fact.kind].call;
}

/** The fields that may hold values. All are checked in every entry, because a hostile entry may have extra ones. */
export function valueFields({ kind }: Fact<unknown>): readonly string[] {
  return kind.startsWith("run.") ? runValues : callValues;
}

// A step's input is a fingerprint, a run's is a value.
const runValues = ["input", "prompts", "output", "error", "reason", "messages", "report", "note"];
const callValues = ["value", "error", "chunks", "note", "issues", "prompt"];

/** The first entry of a run or of a chapter. */
export type Beginning<V = Json> = Extract<Entry<V>, { kind: "run.started" | "run.forked" | "run.continued" }>;

export function isBeginning<V>(entry: Entry<V>): entry is Beginning<V> {
  return entry.kind === "run.started" || entry.kind === "run.forked" || entry.kind === "run.continued";
}

/** The input that an entry gives to its run. A debounced run gets one with each start. */
export function inputOf<V>(entry: Entry<V>): V | undefined {
  return isBeginning(entry) || entry.kind === "run.queued" ? entry.input : undefined;
}

/** The input of a run, in the entries of one chapter: the last that it was given. */
export function inputIn<V>(entries: readonly Entry<V>[]): V | undefined {
  const last = entries.findLast((entry) => inputOf(entry) !== undefined);
  return last && inputOf(last);
}

/** The turn of its rate that a run has, and has not used. One that failed in the line has given its turn back. */
export function turnIn(entries: readonly Entry[]): Turn | undefined {
  const last = entries.findLast(({ kind }) => kind === "run.queued" || kind === "run.retried");
  return last?.kind === "run.queued" ? last.turn : undefined;
}
