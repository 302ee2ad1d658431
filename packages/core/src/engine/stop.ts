/** How a drive ends. */

import type { Json } from "../codec/tags.ts";
import type { Fact } from "../entry.ts";
import { DurableError } from "../errors.ts";

/** Why a drive came to its end. What the run's outcome is, the journal says. */
export type Stop =
  | { readonly kind: "ended" | "suspended" | "lost" | "left" }
  | { readonly kind: "blocked"; readonly error: DurableError };

/** The end of the workflow function, encoded. */
export type Finish = (orphans: readonly string[]) => Fact<Json>;

/** What work that is still running is told; `null` when there can be none. */
export function abortReason(runId: string, stop: Stop): DurableError | null {
  switch (stop.kind) {
    case "suspended":
      return null;
    case "blocked":
      return stop.error;
    case "ended":
      return new DurableError("cancelled", `Run ${runId} has ended; this work is no longer needed.`);
    case "lost":
    case "left":
      return new DurableError("conflict", `Run ${runId} is driven elsewhere; this driver has let go.`);
  }
}
