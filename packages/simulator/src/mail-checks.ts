/**
 * Checks on messages and reports after the end of a simulation.
 *
 * I6. A message that was accepted is recorded.
 * I8. The head has the last report of the journal.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Cluster } from "./cluster.ts";
import { chaptersOf } from "./run-log.ts";

/** Runs after the end of the simulation. */
export async function judgeMail({ history, disk, plan }: Cluster): Promise<void> {
  for (const { run, id, status } of history.sends) {
    const logs = history.runs.filter((log) => log.runId === run.runId);
    // An id that was used again, or a storage that forgot something, says nothing.
    if (status !== "accepted" || logs.some(({ deleted, tainted, dropped }) => deleted || tainted || dropped))
      continue;
    const found = logs.some((log) =>
      history.entries(log).some((entry) => entry.kind === "message.sent" && entry.id === id),
    );
    if (!found) history.violate("I6", `message ${id} to run ${run.runId} was accepted and is not recorded`);
  }
  if (plan.encrypted === true) return;
  for (const run of history.runs) {
    const lineage = history.lineage(run);
    if (run.status === "continued" || lineage.some(({ deleted, tainted }) => deleted || tainted)) continue;
    const made = chaptersOf(run).flatMap((log) => history.entries(log));
    const last = made.findLast(({ kind }) => kind === "report.set");
    if (last === undefined) continue;
    history.meet("a report in the head");
    const { head } = await disk.read(run.locator, 0);
    if (head?.report !== JSON.stringify(last.value))
      history.violate("I8", `run ${run.runId}: the head has the report ${String(head?.report)}`);
  }
}
