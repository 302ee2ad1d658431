/** Which of the ways this system knows were taken, as its batches show it. */

import type { History } from "./history.ts";
import { driverOf, type AppliedBatch, type RunLog } from "./records.ts";

export function noteMeetings(history: History, run: RunLog, batch: AppliedBatch): void {
  const before = run.batches.slice(0, -1).flatMap(({ entries }) => entries);
  const kinds = new Set(batch.entries.map(({ kind }) => kind));
  for (const kind of kinds) history.meet(`entry ${kind}`);
  if (batch.entries.length > 3) history.meet("a shared append");
  for (const { kind, wait } of batch.entries) {
    if (kind !== "suspend.answered") continue;
    const opened = before.some((entry) => entry.kind === "suspend.opened" && entry.wait === wait);
    history.meet(opened ? "an answer to an open wait" : "an answer before its wait");
  }
  if (batch.outside) {
    if (kinds.has("run.cancelled")) history.meet("a cancel from outside");
    if (!kinds.has("suspend.answered") && !kinds.has("suspend.resolved")) return;
    history.meet("an answer from outside");
    if (before.at(-1)?.kind === "run.suspended") history.meet("an answer after a park");
    return;
  }
  const last = run.batches.slice(0, -1).findLast(({ outside }) => !outside);
  if (last === undefined) return;
  if (driverOf(last) === driverOf(batch)) {
    if (last.entries.at(-1)?.kind === "run.suspended") history.meet("a warm run went on");
    return;
  }
  history.meet(
    last.process === batch.process ? "taken up again by the same process" : "taken over by another process",
  );
}
