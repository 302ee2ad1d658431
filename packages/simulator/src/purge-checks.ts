/**
 * Checks on what a purge deletes. Reads the journals as they were written, and the storage directly. Proven in
 * test/sim-purge.test.ts, and by the planted bugs of `npm run sim:mutants`.
 */

import type { Storage } from "@durable/core";
import type { History } from "./history.ts";
import { batchesOf, chaptersOf, isEnd, type RunLog } from "./run-log.ts";

/** Before a purge deletes a run: it has ended. */
export function judgePurged(history: History, run: RunLog): void {
  const last = history.entries(run).at(-1);
  if (run.tainted) return;
  if (last === undefined || !isEnd(last.kind))
    history.violate("I8", `a purge deleted run ${run.runId}, which has not ended`);
  history.meet(run.childOf === null ? "a purge of a run" : "a purge of a child");
}

/** Afterwards: everything that a living fork reads is still there. */
export async function judgeReaders(history: History, run: RunLog, storage: Storage): Promise<void> {
  const nonces = new Set(chaptersOf(run).map((log) => history.entries(log)[0]?.nonce));
  const reads = (other: RunLog): boolean =>
    history
      .entries(other)[0]
      ?.ancestry?.some(({ runId, nonce }) => runId === run.runId && nonces.has(nonce)) === true;
  const isRead = history.runs.some((other) => !other.deleted && !other.tainted && reads(other));
  if (run.tainted || chaptersOf(run).some(({ dropped }) => dropped) || !isRead) return;
  history.meet("a purge of a run that a fork reads");
  const { batches, length, from = 0 } = await storage.read(run.locator);
  const written = batchesOf(run);
  const isWhole = length === written.length && batches.every((text, i) => text === written[from + i]?.text);
  if (!isWhole)
    history.violate("I7", `a purge removed batches of run ${run.runId}, which a living fork reads`);
}
