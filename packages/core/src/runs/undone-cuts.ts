/** The places to which a fork of a run that was undone goes back. */

import type { Cut } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { isSettlement } from "../journal/kinds.ts";

/**
 * What the parent undoes is not there any more: a fork does it again, with all that depends on it. A step whose
 * compensation failed is still there, and one that is edited is replaced.
 */
export function undoneCuts({ entries, state }: RunJournal, edited: ReadonlySet<string>): Cut[] {
  const failed = new Set(entries.map((entry) => (entry.kind === "step.failed" ? entry.key : "")));
  return [...state.undoable].flatMap(([key, { call }]): Cut[] => {
    const settled = entries.find((entry) => isSettlement(entry) && entry.key === key);
    const stays = call !== "step" || failed.has(`${key}/compensate`) || edited.has(key);
    return stays || settled === undefined ? [] : [{ key, at: settled.seq, keep: false }];
  });
}
