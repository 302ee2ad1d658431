/** Whether the end of a run ends others. */

import type { RunJournal } from "../journal/journal.ts";

/** True when some spawned runs are cancelled when this one ends. */
export function endsSpawned({ state, first }: RunJournal): boolean {
  return state.endingSpawned().length > 0 || (first.kind === "run.continued" && first.endsSpawned === true);
}
