/**
 * I7: what a fork keeps, worked out from causes alone (law 9).
 *
 * At a cut C it keeps an entry E that was called before C settled, or that stands in another branch of one same
 * group; C itself is kept unless the fork goes back to run it again. What is kept does not run, what is not
 * kept and is reached does.
 */

import type { ForkNote, History } from "./history.ts";
import { isSettlement, type RunLog, type WrittenEntry } from "./run-log.ts";

export function judgeFork(history: History, run: RunLog, { key, how }: ForkNote): void {
  const [forked] = history.entries(run);
  const parent = run.parent === null ? undefined : history.run(run.parent);
  // Parents that are forks themselves stand on a longer line; those of another code asked for other things.
  if (forked?.ancestry === undefined || parent === undefined || parent.parent !== null || history.codeChanges)
    return;
  const length = forked.ancestry.at(-1)?.length ?? 0;
  const entries = parent.batches.slice(0, length).flatMap((batch) => batch.entries);
  const cut = entries.findIndex((entry) => entry.key === key && isSettlement(entry.kind)) + 1;
  if (cut === 0) return;
  const settled = new Map<string, WrittenEntry>();
  for (const entry of entries)
    if (isSettlement(entry.kind) && entry.key !== undefined && !settled.has(entry.key))
      settled.set(entry.key, entry);
  const own = new Set(
    history
      .entries(run)
      .filter(({ kind }) => isSettlement(kind))
      .map((entry) => entry.key),
  );
  const ran = new Set(history.bodies.filter((body) => body.run === run).map((body) => body.key));
  const reached = new Set(history.passes.filter((pass) => pass.run === run).flatMap(({ keys }) => [...keys]));
  for (const other of settled.keys()) {
    // What was answered about an attempt of a step goes with the step.
    const call = other.replace(/\/uncertain(#\d+)?$/, "");
    const { after = 0 } = settled.get(call) ?? { after: cut };
    const kept = [other, call].includes(key) ? how !== "from" : after < cut || areBranches(call, key);
    if (kept && (own.has(other) || ran.has(other)))
      history.violate("I7", `run ${run.runId}, a fork ${how} ${key}: ${other} was kept, and done again`);
    if (!kept && reached.has(other) && !own.has(other))
      history.violate(
        "I7",
        `run ${run.runId}, a fork ${how} ${key}: ${other} was dropped, and is given all the same`,
      );
  }
}

/** True when the two first differ in the branch of one same group. */
function areBranches(a: string, b: string): boolean {
  const [left, right] = [a.split("/"), b.split("/")];
  const at = left.findIndex((part, i) => part !== right[i]);
  return groupOf(left[at]) !== null && groupOf(left[at]) === groupOf(right[at]);
}

function groupOf(part = ""): string | null {
  return /^(.*)\[[^\]]*\]$/.exec(part)?.[1] ?? null;
}
