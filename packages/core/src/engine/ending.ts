/** The last words of a drive: how a run is parked, and what stands in the way of its end. */

import type { Json } from "../values/codec/tags.ts";
import type { Fact } from "../journal/entry.ts";
import type { DurableError } from "../values/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";
import type { CallRegistry } from "./registry.ts";
import { orphanWarning, vanishedWait } from "./messages.ts";
import type { Finish } from "./options.ts";
import type { Replay } from "./replay.ts";

type Park = Fact<Json> & { kind: "run.suspended" };

export function parkOf({
  wakeAt,
  recheckAt,
}: {
  readonly wakeAt: number | null;
  readonly recheckAt: number | null;
}): Park {
  return { kind: "run.suspended", wakeAt, ...(recheckAt === null ? {} : { look: recheckAt }) };
}

/** True when the journal says so already. */
export function isParked({ state }: RunJournal, { wakeAt, look }: Park): boolean {
  return state.summary.status === "suspended" && look === undefined && state.summary.wakeAt === wakeAt;
}

/** The end of the function as an entry; an open wait that the code did not reach is no end. */
export function endOf(
  finish: Finish,
  run: {
    readonly journal: RunJournal;
    readonly replay: Replay;
    readonly calls: CallRegistry;
    readonly world: World;
  },
): Fact<Json> | DurableError {
  const { runId, state } = run.journal;
  const unreached = (key: string): boolean => !run.replay.isCalled(key) && !run.calls.isClosed(key);
  const vanished = state.openWaits({ answered: true }).find(({ opened }) => unreached(opened.key));
  if (vanished !== undefined) return vanishedWait(runId, vanished.opened.key, finish.thrown);
  const orphans = run.replay.orphans().filter(unreached);
  if (orphans.length > 0) run.world.warn(orphanWarning(runId, orphans));
  return finish.fact(orphans);
}
