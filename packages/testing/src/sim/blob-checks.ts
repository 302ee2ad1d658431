/**
 * What must hold of blobs: those that a kept run is made of are there, and those that none is made of have gone.
 * Part of I8: a journal whose blobs are missing is not dense.
 */

import type { RunLog } from "./run-log.ts";
import type { Cluster } from "./cluster.ts";

/** Once all is over. */
export async function judgeBlobs({ history, disk }: Cluster): Promise<void> {
  const kept = new Set<string>();
  const gone = new Map<string, RunLog>();
  for (const run of history.runs) {
    const read = history.runs.some((other) => other !== run && history.lineage(other).includes(run));
    for (const name of run.parts.names) {
      if (run.deleted && !read && !run.tainted) gone.set(name, run);
      else kept.add(name);
    }
    if (run.deleted || run.tainted || run.parts.names.size === 0) continue;
    const { blobs = {} } = await disk.read(run.locator, 0);
    const missing = [...run.parts.names].find((name) => blobs[name] === undefined);
    if (missing !== undefined)
      history.violate("I8", `run ${run.runId}: blob ${missing} does not come with its batches`);
  }
  for (const [name, run] of gone) {
    if (kept.has(name)) continue;
    history.meet("a blob that went with its run");
    if (await disk.holds(name))
      history.violate("I8", `blob ${name} is kept, and run ${run.runId} was the last to name it`);
  }
}
