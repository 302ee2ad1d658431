/**
 * I7: what a fork keeps, computed from causes alone (law 9).
 *
 * A fork cut at C keeps a call that was made before C settled, or that is in another branch of the same
 * group. It keeps C itself unless it was forked `from` C. C may be a branch or a group: then the first or the
 * last settlement inside of it counts. With several cuts, a call is kept that every cut keeps. A kept call
 * does not run again; a dropped call that is reached does. The parent of a fork may be a fork, which has what it kept and what it recorded itself.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { ForkNote } from "./notes.ts";
import { hasNewInput, inputOf } from "./input-checks.ts";
import { begunSteps, codeOf, endsCode } from "./undo-checks.ts";
import { isSettlement, placed, type RunLog, type WrittenEdit, type WrittenEntry } from "./run-log.ts";

/** Where a call was made and where it settled, in the numbering that a fork shares with its ancestors. */
interface SettledCall {
  readonly after: number;
  readonly seq: number;
}

export function judgeFork(history: History, run: RunLog): void {
  const note = noteOf(history, run);
  if (note === null) return;
  noteCut(history, run, note);
  const theirs = settledBefore(history, run);
  const undone = undoneBefore(history, run, note);
  if (undone.length > 0) history.meet("a fork of a run that was undone");
  const own = new Set(history.entries(run).flatMap((entry) => (isSettlement(entry.kind) ? [entry.key] : [])));
  const ran = new Set(history.bodies.filter((body) => body.run === run).map((body) => body.key));
  const reached = new Set(history.passes.filter((pass) => pass.run === run).flatMap(({ keys }) => [...keys]));
  const where = `run ${run.runId}, a fork ${textOf(note)}`;
  for (const key of theirs.keys()) {
    const kept = isKept(key, theirs, { ...note, cuts: [...note.cuts, ...undone] });
    // In changed code the step may begin anew, and an attempt that is cut off is asked about, whatever was said of one before.
    const asksAnew = history.codeChanges && key.endsWith("/uncertain");
    if (kept && !asksAnew && (own.has(key) || ran.has(key)))
      history.violate("I7", `${where}: ${key} was kept but ran again`);
    if (!kept && reached.has(key) && !own.has(key) && !own.has(`${key}[]/deadline`))
      history.violate("I7", `${where}: ${key} was dropped but is still delivered`);
    const isAnew = [...ran].some(
      (other) => other !== key && beginsAnew(history, run, { key: other, counted: key }),
    );
    if (kept && reached.has(key) && !isAnew && isStale(history, run, key))
      history.violate("I7", `${where}: ${key} is delivered although it was made for another input`);
  }
}

/**
 * True for a step that declares the input of its run and has the key of the next one, in a fork that got another input. A record
 * from while a stream had no end may answer its words, so a step there that declares something else begins anew.
 */
export function beginsAnew(
  history: History,
  run: RunLog | undefined,
  step: { readonly key: string; readonly counted: string },
): boolean {
  if (run === undefined) return false;
  const [key, counted] = [step.key, step.counted].map((one) => one.replace(/#\d+$/, ""));
  return key === counted && declaresInput(step.key) && hasNewInput(history, run);
}

function declaresInput(key: string): boolean {
  return /(^|\/)given [^/]*$/.test(key);
}

/** True when the step declares the input of its run, and the run that recorded it had another one. */
function isStale(history: History, run: RunLog, key: string): boolean {
  if (!declaresInput(key)) return false;
  const input = (log: RunLog): string => JSON.stringify(inputOf(history, log));
  const made = history
    .lineage(run)
    // Changed code may have a sleep of this name, and a sleep declares no input.
    .find((log) =>
      history
        .entries(log)
        .some(({ key: its, kind }) => its === key && kind.startsWith("step.") && isSettlement(kind)),
    );
  const edited = history.lineage(run).some((log) => editsOf(history, log).some((edit) => edit.key === key));
  return made !== undefined && !edited && input(made) !== input(run);
}

function textOf({ cuts, edits }: ForkNote): string {
  const places = cuts.map(({ key, keep }) => `${keep ? "after" : "from"} ${key}`);
  return [...places, ...edits.map((key) => `with another ${key}`)].join(", ");
}

function editsOf(history: History, run: RunLog): readonly WrittenEdit[] {
  return history.entries(run)[0]?.edits ?? [];
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
  const chapter = run.parentLog?.chapter;
  const asked = history.forks.filter(
    (other) =>
      (other.id === null || other.id === run.runId) &&
      other.parent === run.parent &&
      (other.chapter === undefined || other.chapter === chapter),
  );
  const note = asked.find((other) => isOf(forked, other));
  // A chapter may begin after a request has read its keys. There, a name may be that of another call.
  const isLate = (chapter ?? 1) > 1 && asked.some((other) => other.chapter === undefined);
  if (note === undefined && !isLate)
    history.violate("I7", `run ${run.runId} is a fork that was not requested`);
  return note ?? null;
}

function isOf({ cuts = [], edits = [], input }: WrittenEntry, note: ForkNote): boolean {
  const edited = edits.map(({ key }) => key);
  const cut = cuts.filter(({ key }) => !edited.includes(key)).map(({ key, keep }) => ({ key, keep }));
  const asked = [note.cuts, note.edits, note.input];
  return JSON.stringify([cut, edited, input]) === JSON.stringify(asked);
}

/** The calls that had settled in the parent when this fork was made, by key. */
function settledBefore(history: History, run: RunLog): Map<string, SettledCall> {
  const { parentLog: parent } = run;
  const base = history.entries(run)[0]?.base ?? 0;
  return parent === undefined ? new Map() : settledUpTo(history, parent, base);
}

/** The cuts at steps that the parent undoes: a fork does them again, unless their compensation failed. */
function undoneBefore(history: History, run: RunLog, { edits }: ForkNote): ForkNote["cuts"] {
  const { parentLog: parent } = run;
  const base = history.entries(run)[0]?.base ?? 0;
  if (parent === undefined) return [];
  const entries = placed(parent).flatMap(({ entry, seq }) => (seq <= base ? [entry] : []));
  if (!entries.some(({ kind }) => endsCode(kind))) return [];
  const stays = (key: string): boolean =>
    edits.includes(key) ||
    entries.some((entry) => entry.kind === "step.failed" && entry.key === `${key}/compensate`);
  return begunSteps(entries)
    .filter(
      (key) => !stays(key) && codeOf(entries).some((entry) => entry.key === key && isSettlement(entry.kind)),
    )
    .map((key) => ({ key, keep: false }));
}

/** The calls that had settled in a run up to a position: those it kept of its parent, and its own. */
function settledUpTo(history: History, run: RunLog, upTo: number): Map<string, SettledCall> {
  const theirs = settledBefore(history, run);
  const note = theirs.size === 0 ? null : noteOf(history, run);
  const cuts = note === null ? [] : [...note.cuts, ...undoneBefore(history, run, note)];
  const settled = new Map(
    [...theirs].filter(([key]) => note !== null && isKept(key, theirs, { ...note, cuts })),
  );
  for (const { entry, seq } of placed(run)) {
    const { kind, key, after = 0, edits = [] } = entry;
    // Entries that were recorded while the run was undone belong to it alone.
    if (endsCode(kind)) break;
    // A call that had not settled in the parent settles where the fork begins, if its value is given.
    for (const { key: edited, open } of edits)
      if (open !== undefined) settled.set(edited, { after: open.after, seq });
    if (seq <= upTo && isSettlement(kind) && key !== undefined && !settled.has(key))
      settled.set(key, { after, seq });
  }
  return settled;
}

function isKept(key: string, settled: ReadonlyMap<string, SettledCall>, { cuts, edits }: ForkNote): boolean {
  // The answer about an uncertain attempt is kept or dropped with its step.
  const call = key.replace(/\/uncertain(#\d+)?$/, "");
  if (edits.includes(call)) return true;
  const made = settled.get(call)?.after ?? Number.POSITIVE_INFINITY;
  const places = [...cuts, ...edits.map((edit) => ({ key: edit, keep: true }))];
  return places.every(({ key: path, keep }) => {
    if (isWithin(key, path) || isWithin(call, path)) return keep;
    return made < positionOf(path, keep, settled) || areBranches(call, path);
  });
}

/** Where a cut is: before the first settlement inside of its path, or after the last one. */
function positionOf(path: string, keep: boolean, settled: ReadonlyMap<string, SettledCall>): number {
  const inside = [...settled].filter(([key]) => isWithin(key, path)).map(([, { seq }]) => seq);
  if (inside.length === 0) return Number.POSITIVE_INFINITY;
  return keep ? Math.max(...inside) : Math.min(...inside);
}

/** True when the key is the path or inside of it: a branch, or a group with all its branches. */
function isWithin(key: string, path: string): boolean {
  return key === path || key.startsWith(`${path}/`) || key.startsWith(`${path}[`);
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
