/** What entries say about attempts and waits, for the hooks: see observer.ts. */

import type { AttemptEnd, ParentOfRun } from "../engine/hooks.ts";
import type { CallKind, Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";

export type Attempted = Extract<Entry, { readonly startedAt: number }>;
export type Called = Extract<Entry, { readonly key: string }>;

/** The end of one attempt of a step or stream. */
export function isAttempt<E extends Entry>(entry: E): entry is E & Attempted {
  return "startedAt" in entry;
}

/** A wait is opened; groups are not waits. */
export function isOpening(entry: Called): boolean {
  return entry.kind.endsWith(".opened") && !("branches" in entry);
}

/** What ends a suspend point, a sleep or a child. */
export const endsWait = /\.(fired|resolved|expired|completed|failed|closed)$/;

/** The kind of a call is the first part of the names of its entries. */
export function kindOf({ kind }: Called): CallKind {
  return kind.slice(0, kind.indexOf(".")) as CallKind;
}

export function outcomeOf({ kind }: Attempted): AttemptEnd["outcome"];
export function outcomeOf({ kind }: Called): "completed" | "failed" | "expired" | "closed";
export function outcomeOf({ kind }: Called): string {
  if (kind === "attempt.failed") return "retried";
  const last = kind.slice(kind.indexOf(".") + 1);
  return last === "failed" || last === "expired" || last === "closed" ? last : "completed";
}

/**
 * A nonce tells incarnations and chapters apart. The id of a child is unique already, and its parent knows it before the
 * child has a nonce.
 */
export function seedOf({ runId, nonce, childOf, chapter }: RunJournal): string {
  return childOf !== undefined && chapter === 1 ? runId : `${runId} ${nonce}`;
}

/** The run that a fork or a child comes from. The nonce of a child's parent is known only where both are driven. */
export function parentOf(
  { first, childOf, state }: RunJournal,
  driving: ReadonlyMap<string, { readonly journal: RunJournal }>,
): ParentOfRun | null {
  if (childOf !== undefined) {
    const { runId, key } = childOf;
    const above = driving.get(runId)?.journal;
    return { kind: "child", runId, key, seed: above === undefined ? null : seedOf(above) };
  }
  const { parent } = state.summary;
  if (parent === null) return null;
  const ancestry = first.kind === "run.forked" ? first.ancestry : [];
  const nonce = ancestry.findLast(({ runId }) => runId === parent)?.nonce;
  return { kind: "fork", runId: parent, key: null, seed: nonce === undefined ? null : `${parent} ${nonce}` };
}

/** A step began with its first attempt. */
export function noteStart(began: Map<string, number> | null, { key, startedAt }: Attempted): void {
  if (began?.has(key) === false) began.set(key, startedAt);
}

/** Copies, because the journal keeps its own. */
export function usageOf(entry: Attempted | undefined): AttemptEnd["usage"] {
  return entry?.usage === undefined ? noUsage : entry.usage.map((used) => ({ ...used }));
}

const noUsage: AttemptEnd["usage"] = Object.freeze([]);
