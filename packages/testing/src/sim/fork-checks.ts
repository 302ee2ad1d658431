/**
 * I7: what a fork keeps, computed from causes alone (law 9).
 *
 * A fork cut at C keeps an entry that was called before C settled, or that is in another branch of the same
 * group. It keeps C itself unless it was forked `from` C. A kept step does not run again; a dropped step that
 * is reached does.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { ForkNote, History } from "./history.ts";
import { isSettlement, type RunLog, type WrittenEntry } from "./run-log.ts";

export function judgeFork(history: History, run: RunLog, { key, how }: ForkNote): void {
  const [forked] = history.entries(run);
  const parent = run.parent === null ? undefined : history.run(run.parent);
  // The parent must not be a fork, because the positions here count from its own start, nor run changed code.
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
    // The answer about an uncertain attempt is kept or dropped with its step.
    const call = other.replace(/\/uncertain(#\d+)?$/, "");
    const { after = 0 } = settled.get(call) ?? { after: cut };
    const kept = [other, call].includes(key) ? how !== "from" : after < cut || areBranches(call, key);
    if (kept && (own.has(other) || ran.has(other)))
      history.violate("I7", `run ${run.runId}, a fork ${how} ${key}: ${other} was kept but ran again`);
    if (!kept && reached.has(other) && !own.has(other))
      history.violate(
        "I7",
        `run ${run.runId}, a fork ${how} ${key}: ${other} was dropped but is still delivered`,
      );
  }
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
