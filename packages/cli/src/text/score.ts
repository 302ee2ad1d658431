/** Scores of runs, as a terminal shows them. */

import type { ScoreView } from "@durable/core/inspect";

/** A score with its note: `helpful=0 (wrong city)`. */
export function scoredText({ name, value, note }: ScoreView): string {
  return `${name}=${value}${note === undefined ? "" : ` (${note})`}`;
}
