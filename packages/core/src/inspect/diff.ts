/** Compares two journals, and reads where a fork comes from: pure functions of entries. */

import { isSettlement, type Settlement as Settled, isBeginning } from "../journal/kinds.ts";
import { encode } from "../values/codec/encode.ts";
import { materialize } from "../journal/lineage.ts";
import type { RunEntry } from "../journal/outcome.ts";
import { sortOf } from "../journal/turns.ts";

/** How one call differs between two runs. */
export interface CallDiff {
  readonly key: string;
  /** The key in the first run, of a call that is named by its content, such as a turn of a model whose prompt was changed. */
  readonly was?: string;
  /**
   * `same`: one record that both runs see. `edited`: the same record with another value. `re-run`: two
   * records. `new` and `gone`: settled only in the second run, or only in the first.
   */
  readonly change: "same" | "edited" | "re-run" | "new" | "gone";
  /** True when both outcomes are equal, wherever they were recorded. */
  readonly equal: boolean;
  readonly before: Given | null;
  readonly after: Given | null;
}

/** The outcome of a call: a value or an error. */
export type Given = { readonly value: unknown } | { readonly error: unknown };

/** The result of `diff`. */
export interface Diff {
  /** In the order in which the calls settled; those of the first run come first. */
  readonly calls: readonly CallDiff[];
  /** The ends of the two runs; `null` for a run that has not ended. */
  readonly end: { readonly equal: boolean; readonly before: Given | null; readonly after: Given | null };
}

/** Compares the entries of two runs, such as a fork and its parent, call by call. */
export function diff(before: readonly RunEntry[], after: readonly RunEntry[]): Diff {
  const [left, right] = [settlements(before), settlements(after)];
  const edited = new Set(
    after.flatMap((entry) => (entry.kind === "run.forked" ? entry.edits.map(({ key }) => key) : [])),
  );
  const keys = new Set([...left.keys(), ...right.keys()]);
  const calls = [...keys].map((key): CallDiff => {
    const [a, b] = [left.get(key), right.get(key)];
    const [one, two] = [settledOf(a, before), settledOf(b, after)];
    const equal = isEqual(one, two);
    return { key, change: changeOf(a, b, equal, edited), equal, before: one, after: two };
  });
  const isTurn = (key: string): boolean => {
    const entry = right.get(key) ?? left.get(key);
    return entry !== undefined && "work" in entry && entry.work === "content";
  };
  const [one, two] = [endOf(before), endOf(after)];
  return { calls: paired(calls, isTurn), end: { equal: isEqual(one, two), before: one, after: two } };
}

/** A turn whose question was changed has another name: the first that is gone is the first that is new, in its branch. */
function paired(calls: readonly CallDiff[], isTurn: (key: string) => boolean): CallDiff[] {
  const fresh = new Map<string, CallDiff[]>();
  for (const call of calls)
    if (call.change === "new" && isTurn(call.key))
      fresh.set(sortOf(call.key), [...(fresh.get(sortOf(call.key)) ?? []), call]);
  const used = new Set<CallDiff>();
  const all = calls.map((gone): CallDiff => {
    const call =
      gone.change === "gone" && isTurn(gone.key) ? fresh.get(sortOf(gone.key))?.shift() : undefined;
    if (call === undefined) return gone;
    used.add(call);
    const { before, key: was } = gone;
    return { ...call, was, change: "re-run", before, equal: isEqual(before, call.after) };
  });
  return all.filter((call) => !used.has(call));
}

type Settlement = Settled<unknown>;

/** The first settlement of each call; later ones do not count. */
function settlements(entries: readonly RunEntry[]): Map<string, Settlement> {
  const found = new Map<string, Settlement>();
  for (const entry of materialize(entries))
    if (isSettlement(entry) && !found.has(entry.key)) found.set(entry.key, entry);
  return found;
}

function changeOf(
  a: Settlement | undefined,
  b: Settlement | undefined,
  equal: boolean,
  edited: ReadonlySet<string>,
): CallDiff["change"] {
  if (b === undefined) return "gone";
  if (edited.has(b.key)) return "edited";
  if (a === undefined) return "new";
  // A fork sees the same entries as its ancestors, with their positions and times.
  if (a.seq !== b.seq || a.at !== b.at) return "re-run";
  return equal ? "same" : "edited";
}

function settledOf(entry: Settlement | undefined, entries: readonly RunEntry[]): Given | null {
  if (entry === undefined) return null;
  if ("error" in entry) return { error: entry.error };
  if (entry.kind === "stream.completed" && entry.value === undefined)
    return { value: chunksOf(entry, entries) };
  return { value: "value" in entry ? entry.value : undefined };
}

function chunksOf(end: Settlement & { kind: "stream.completed" }, entries: readonly RunEntry[]): unknown[] {
  return entries.flatMap((entry) =>
    entry.kind === "stream.chunks" && entry.key === end.key && entry.attempt === end.attempt
      ? entry.chunks
      : [],
  );
}

function endOf(entries: readonly RunEntry[]): Given | null {
  for (const entry of entries) {
    if (entry.kind === "run.completed") return { value: entry.output };
    if (entry.kind === "run.failed") return { error: entry.error };
    if (entry.kind === "run.cancelled") return { error: entry.reason };
  }
  return null;
}

function isEqual(a: Given | null, b: Given | null): boolean {
  return JSON.stringify(encode(a, "outcome")) === JSON.stringify(encode(b, "outcome"));
}

/** Where a run comes from. */
export interface Lineage {
  readonly runId: string;
  /** The run that was forked; `null` for a run that was started. */
  readonly parent: string | null;
  readonly label: string | null;
  /** Keys that the fork went back to: they ran again, and what came after them. */
  readonly from: readonly string[];
  /** Keys that the fork kept, while what came after them ran again. */
  readonly after: readonly string[];
  /** Keys whose output was replaced. */
  readonly edited: readonly string[];
  /**
   * Runs whose recorded work it can see, oldest first. In a long line of forks the first of them stands for
   * those before it.
   */
  readonly ancestors: readonly string[];
}

/**
 * Reads from the entries of a run which run it was forked from, and where. `null` if the entries lack the
 * first one.
 */
export function lineage(entries: readonly RunEntry[]): Lineage | null {
  const first = entries.find(isBeginning);
  if (first === undefined) return null;
  const { runId } = first;
  const root = { runId, parent: null, label: null, from: [], after: [], edited: [], ancestors: [] };
  if (first.kind !== "run.forked") return root;
  const edited = first.edits.map(({ key }) => key);
  const cuts = first.cuts ?? first.ancestry.at(-1)?.cuts ?? [];
  const keysOf = (keep: boolean): string[] =>
    cuts.filter((cut) => cut.keep === keep && !edited.includes(cut.key)).map(({ key }) => key);
  return {
    runId,
    parent: first.parent,
    label: first.label,
    from: keysOf(false),
    after: keysOf(true),
    edited,
    ancestors: first.ancestry.map((ancestor) => ancestor.runId),
  };
}
