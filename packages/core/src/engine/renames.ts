/**
 * A call without a record that may be a recorded call under another name.
 *
 * renames.1. A call is a rename only of a record of its kind and its open branch that the code has not asked for, that the
 *     old code had made with no more than the new code has seen, and after which the code has neither asked for nor seen
 *     anything that came later.
 * renames.2. It is sure where to do the work again would pay twice, or where the two are alike: the same declared input, or
 *     the same source text of their work. A source text that calls of other names share says nothing.
 * renames.3. The records of calls that were inserted do not say what came later: they are younger than the calls that follow
 *     them in the code.
 */

import { nameOf } from "../journal/keys.ts";
import { DurableError } from "../values/errors.ts";
import type { Call, CallRegistry } from "./registry.ts";
import type { KeyRecord, Replay } from "./replay.ts";

/** A call, and the recorded call whose new name it may be. */
export interface Rename {
  readonly call: Call;
  readonly old: string;
  readonly isSure: boolean;
}

interface Renaming {
  readonly journal: { readonly runId: string; readonly loose: number };
  readonly replay: Replay;
  readonly calls: Pick<CallRegistry, "isClosed">;
}

const work = new Set(["step", "stream", "child", "spawn"]);
const ordered = new Set([...work, "sleep", "suspend", "parallel", "race"]);

/** The recorded call that this one may be; a sure one first. */
export function renameOf(run: Renaming, call: Call): Rename | null {
  const { asked, reached = 0 } = call.entered;
  if (asked === undefined || asked.was !== undefined || asked.byContent !== undefined) return null;
  if (!work.has(call.kind)) return null;
  let unsure: Rename | null = null;
  for (const [old, record] of ahead(run, call)) {
    const { kind, result, after } = record;
    if (kind !== call.kind || result === null || record.work === "content") continue;
    if (run.replay.rank(after) > reached || isPassed(record, reached)) continue;
    if (isSure(run.replay, call, old, record)) return { call, old, isSure: true };
    unsure ??= { call, old, isSure: false };
  }
  return unsure;
}

/** The code had seen what was recorded after the outcome, so it would have asked for it before. */
function isPassed({ end, inserted }: KeyRecord, reached: number): boolean {
  return end !== null && !inserted && reached > end;
}

/** The call is new, and comes before recorded calls of its branch that the code may still ask for. */
export function isInserted(run: Renaming, call: Call): boolean {
  for (const [, { kind }] of ahead(run, call)) if (ordered.has(kind)) return true;
  return false;
}

/** Recorded calls of the branch of a call without a record that the code has neither asked for nor passed. */
function* ahead(
  { journal, replay, calls }: Renaming,
  { scope, key, entered }: Call,
): ReturnType<Replay["unasked"]> {
  if (scope.closed || replay.record(key) !== undefined) return;
  for (const [old, record] of replay.unasked(scope.path))
    if (record.seq > journal.loose && record.after >= (entered.past ?? -1) && !calls.isClosed(old))
      yield [old, record];
}

function isSure(replay: Replay, { entered: { asked } }: Call, old: string, record: KeyRecord): boolean {
  if (record.starts > 0 || record.metered || record.work === "key") return true;
  if (record.input !== null && asked?.input === record.input) return true;
  const source = asked?.work === undefined ? null : sourceOf(asked.work);
  return source !== null && source === record.work && !replay.sharesWork(source, nameOf(old));
}

/** How much of a source text counts: a long one is not read in full at each step. */
const most = 4_096;

/** A short fingerprint of the source text of a function; `null` where it has none. */
export function sourceOf(fn: (info: never) => unknown): string | null {
  const text = String(fn);
  if (text.endsWith("[native code] }") || text.endsWith("[native code]\n}")) return null;
  let hash = text.length;
  for (let i = 0; i < text.length && i < most; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // 30 bits in base 32. A multiplication leaves the lowest bits the weakest.
  return ((hash ^ (hash >>> 15)) >>> 2).toString(32).padStart(6, "0");
}

export function renamed(runId: string, { call, old }: Rename): DurableError {
  const { kind, key } = call;
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: the ${kind} "${key}" has no record, and the recorded ${kind} "${old}" was not asked for. If it was renamed, pass { was: "${nameOf(old)}" } to keep its result; if "${nameOf(key)}" is new work, pass { was: null }. Otherwise restore the code, or fork the run from "${old}". Then advance it again.`,
    { details: { key: old, asked: key } },
  );
}

export function unsureWarning(runId: string, { call, old }: Rename): string {
  const { kind, key } = call;
  return `run ${runId} has no record of the ${kind} "${key}", so it runs, and the recorded ${kind} "${old}" was not asked for yet. If it was renamed, pass { was: "${nameOf(old)}" }; if it is new work, { was: null }.`;
}
