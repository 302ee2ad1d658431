/**
 * I7: what a fork keeps, computed from causes alone (law 9).
 *
 * A fork cut at C keeps a call that was made before C settled, or that is in another branch of the same
 * group. It keeps C itself unless it was forked `from` C. A kept call does not run again; a dropped call that
 * is reached does. The parent of a fork may be a fork, which has what it kept and what it recorded itself.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { ForkNote, History } from "./history.ts";
import { isSettlement, placed, type RunLog, type WrittenEntry } from "./run-log.ts";

/** Where a call was made and where it settled, in the numbering that a fork shares with its ancestors. */
interface SettledCall {
  readonly after: number;
  readonly seq: number;
}

export function judgeFork(history: History, run: RunLog): void {
  const note = noteOf(history, run);
  if (note === null) return;
  noteCut(history, run, note);
  const { key, how } = note;
  const theirs = settledBefore(history, run);
  const own = new Set(history.entries(run).flatMap((entry) => (isSettlement(entry.kind) ? [entry.key] : [])));
  const ran = new Set(history.bodies.filter((body) => body.run === run).map((body) => body.key));
  const reached = new Set(history.passes.filter((pass) => pass.run === run).flatMap(({ keys }) => [...keys]));
  for (const other of theirs.keys()) {
    const kept = isKept(other, theirs, note);
    if (kept && (own.has(other) || ran.has(other)))
      history.violate("I7", `run ${run.runId}, a fork ${how} ${key}: ${other} was kept but ran again`);
    if (!kept && reached.has(other) && !own.has(other))
      history.violate(
        "I7",
        `run ${run.runId}, a fork ${how} ${key}: ${other} was dropped but is still delivered`,
      );
  }
}

/** Notes the cuts that are hard to predict. */
function noteCut(history: History, run: RunLog, { id }: ForkNote): void {
  if (id !== null) history.meet("a cut that a step asked for");
  if (history.lineage(run).length > 2) history.meet("a cut of a fork of a fork");
  if (history.passes.some((pass) => pass.run === run && pass.code === "changed"))
    history.meet("a cut in changed code");
}

/**
 * The request that made a fork. Callers that use one id may ask for several cuts, of which the first one
 * counts, and the storage may have applied a request whose sender got no reply.
 */
function noteOf(history: History, run: RunLog): ForkNote | null {
  const [forked] = history.entries(run);
  if (forked?.kind !== "run.forked") return null;
  const note = history.forks.find(
    ({ id, parent, ...cut }) =>
      (id === null || id === run.runId) && parent === run.parent && isOf(forked, cut),
  );
  if (note === undefined) history.violate("I7", `run ${run.runId} is a fork that was not requested`);
  return note ?? null;
}

function isOf({ cuts = [], edits = [] }: WrittenEntry, { key, how }: Pick<ForkNote, "key" | "how">): boolean {
  if (how === "edit") return edits.some((edit) => edit.key === key);
  return edits.length === 0 && cuts.some((cut) => cut.key === key && cut.keep === (how === "after"));
}

/** The calls that had settled in the parent when this fork was made, by key. */
function settledBefore(history: History, run: RunLog): Map<string, SettledCall> {
  const { parentLog: parent } = run;
  const base = history.entries(run)[0]?.base ?? 0;
  return parent === undefined ? new Map() : settledUpTo(history, parent, base);
}

/** The calls that had settled in a run up to a position: those it kept of its parent, and its own. */
function settledUpTo(history: History, run: RunLog, upTo: number): Map<string, SettledCall> {
  const theirs = settledBefore(history, run);
  const note = theirs.size === 0 ? null : noteOf(history, run);
  const settled = new Map([...theirs].filter(([key]) => note !== null && isKept(key, theirs, note)));
  for (const { entry, seq } of placed(run)) {
    const { kind, key, after = 0 } = entry;
    if (seq <= upTo && isSettlement(kind) && key !== undefined && !settled.has(key))
      settled.set(key, { after, seq });
  }
  return settled;
}

function isKept(key: string, settled: ReadonlyMap<string, SettledCall>, note: ForkNote): boolean {
  // The answer about an uncertain attempt is kept or dropped with its step.
  const call = key.replace(/\/uncertain(#\d+)?$/, "");
  if ([key, call].includes(note.key)) return note.how !== "from";
  const cut = settled.get(note.key)?.seq ?? Number.POSITIVE_INFINITY;
  const made = settled.get(call)?.after ?? Number.POSITIVE_INFINITY;
  return made < cut || areBranches(call, note.key);
}

/** True when the first difference between the keys is the branch of one group. */
function areBranches(a: string, b: string): boolean {
  const [left, right] = [a.split("/"), b.split("/")];
  const at = left.findIndex((part, i) => part !== right[i]);
  return groupOf(left[at]) !== null && groupOf(left[at]) === groupOf(right[at]);
}

function groupOf(part = ""): string | null {
  return /^(.*)\[[^\]]*\]$/.exec(part)?.[1] ?? null;
}
