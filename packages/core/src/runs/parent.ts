/** Reports the end of a child run to its parent. */

import type { ChildEnd } from "../engine/child-runs.ts";
import { writeFact } from "../journal/fact-text.ts";
import type { Fact } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { cancelledError } from "../journal/cancelled.ts";
import { reasonOf, runError } from "../journal/outcome.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Host } from "./host.ts";
import { openJournal } from "./lookup.ts";

/** Writes the end of a child into its parent's journal, if the parent still waits for it. */
export async function reportToParent(
  host: Host,
  { runId, childOf, state }: RunJournal,
  end: Fact<Json>,
): Promise<void> {
  const { undoing } = state;
  if (childOf === undefined || (undoing?.kind === "run.cancelling" && undoing.unneeded !== undefined)) return;
  const { key, after } = childOf;
  const childEnd: ChildEnd =
    end.kind === "run.completed"
      ? { kind: "child.completed", key, after, value: end.output }
      : { kind: "child.failed", key, after, error: errorOf(runId, end) };
  // A parent that this process drives adds the report to its next write.
  if ((await host.driving.get(childOf.runId)?.reportEnd(childEnd, runId)) === true) return;
  const locator = locatorOf(childOf.runId);
  const parked = await host.parked.checkOut(locator);
  const parent = parked ?? (await host.recent.take(locator)) ?? (await openJournal(host, locator));
  if (parent === null) return;
  const user = host.parked.user(parent);
  try {
    for (let child; parent.state.end === null;) {
      child = parent.state.children.get(key);
      if (child === undefined || child.over || child.opened.child !== runId) return;
      await parent.append([writeFact(childEnd, host.world.now())], { outside: true });
    }
  } finally {
    host.parked.checkIn(parent, user);
    // The parent is driven next, or another child ends.
    if (parked === null) host.recent.keep(parent);
  }
}

/** What the parent gets as the error of a child that failed or was cancelled. */
function errorOf(runId: string, end: Fact<Json>): Json {
  const where = `end of run ${runId}`;
  if (end.kind === "run.failed")
    return end.uncompensated === undefined ? end.error : encodeThrown(runError(runId, end), where);
  if (end.kind !== "run.cancelled") return null;
  const { reason, uncompensated } = end;
  const about = { ...reasonOf(reason), ...(uncompensated === undefined ? {} : { uncompensated }) };
  return encodeThrown(cancelledError(runId, about), where);
}
