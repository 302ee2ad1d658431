/**
 * I8: every blob that a kept run names is in the storage, and a blob that no kept run names is not. Proven by
 * the planted bugs of `npm run sim:mutants`.
 */

import { areOneRun, type RunLog } from "./run-log.ts";
import type { Cluster } from "./cluster.ts";

/** Runs after the end of the simulation. */
export async function judgeBlobs({ history, disk }: Cluster): Promise<void> {
  const kept = new Set<string>();
  const gone = new Map<string, RunLog>();
  for (const run of history.runs) {
    // A storage keeps all chapters of a deleted run while a fork reads one of them.
    const read = history.runs.some(
      (other) => !areOneRun(other, run) && history.lineage(other).some((log) => areOneRun(log, run)),
    );
    for (const name of run.parts.names) {
      if ((run.dropped || (run.deleted && !read)) && !run.tainted) gone.set(name, run);
      else kept.add(name);
    }
    if (run.deleted || run.dropped || run.tainted || run.parts.names.size === 0) continue;
    const { blobs = {} } = await disk.read(run.locator, 0);
    const missing = [...run.parts.names].find((name) => blobs[name] === undefined);
    if (missing !== undefined)
      history.violate("I8", `run ${run.runId}: blob ${missing} is not returned with its batches`);
  }
  for (const [name, run] of gone) {
    if (kept.has(name)) continue;
    history.meet("a blob that went with its run");
    if (await disk.holds(name))
      history.violate("I8", `blob ${name} was not deleted with run ${run.runId}, the last that named it`);
  }
}
