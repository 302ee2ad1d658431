/**
 * Checks on waits whose name differs between two versions of the code.
 *
 * I6. No answer is swallowed: the code reached the answered wait, or the run did not end.
 * I8. A run fits code that gives the old names of its waits.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import { chaptersOf, type RunLog, type WrittenEntry } from "./run-log.ts";
import { isByDeadline } from "./steer-checks.ts";

/** Runs after the end of the simulation. */
export function judgeSwallowed(history: History, run: RunLog): void {
  if (run.status !== "completed" && run.status !== "failed") return;
  const passes = history.passes.filter((pass) => pass.run === run);
  const entries = history.entries(run);
  // A deadline does not wait for code that fits.
  if (entries.some((entry) => entry.kind === "run.failed" && isByDeadline(history, run, entry))) return;
  for (const [n, { kind, key = "", wait }] of entries.entries()) {
    // The engine asks about uncertain attempts itself.
    if (kind !== "suspend.opened" || key.includes("/uncertain")) continue;
    const said = (what: RegExp): boolean =>
      entries.some((entry) => entry.wait === wait && what.test(entry.kind));
    // An answer with a verdict was reached by code; if later code does not use it, the run ends with a warning.
    const answered = said(/^suspend\.answered$/);
    const over = said(/^suspend\.(resolved|rejected|expired|closed)$/);
    const got = passes.some((pass) => pass.keys.has(key) || pass.isLost(key));
    if (answered && !over && !got && !isLastCalled(history, run, key) && !isOfLostWords(entries, n, key))
      history.violate("I6", `run ${run.runId} ended although its code never got the answer to ${key}`);
  }
}

/**
 * True when an attempt of a stream of the same branch was under way, or had failed and was not made again yet: code that knew
 * its words may have opened the wait, and code that gets others need not come to it.
 */
function isOfLostWords(entries: readonly WrittenEntry[], opened: number, wait: string): boolean {
  return entries.some(({ kind, key: stream = "", attempt = 0 }, from) => {
    if (kind !== "stream.chunks" || from > opened || !wait.startsWith(branchOf(stream))) return false;
    const later = entries.slice(from).filter(({ key }) => key === stream);
    const next = later.find((entry) => (entry.attempt ?? 0) > attempt);
    if (next !== undefined) return opened < entries.indexOf(next);
    return !later.some((entry) => entry.kind === "stream.completed");
  });
}

/** The beginning of all keys of the branch of a call. */
function branchOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}

/** True when the pass that ended the run called the wait, and only did not wait for it. */
function isLastCalled(history: History, run: RunLog, key: string): boolean {
  const process = run.batches.at(-1)?.process;
  const last = history.passes.findLast((pass) => pass.run === run && pass.process === process);
  return last === undefined || last.called.has(key);
}

/** True when a run has been driven by the first version, then by the changed one, and not by turns. */
export function isMigrated(history: History, run: RunLog): boolean {
  const chapters = chaptersOf(run);
  const passes = history.passes.filter((pass) => pass.run !== undefined && chapters.includes(pass.run));
  const codes = passes.map(({ code }) => code);
  const changed = codes.indexOf("changed");
  return changed !== -1 && !codes.includes("first", changed);
}
