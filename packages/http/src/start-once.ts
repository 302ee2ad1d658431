/** Starting a run for a message that may come twice. */

import { type App, DurableError } from "@durable/core";

/** The result of `startOnce`. */
export interface StartedOnce {
  readonly status: "started" | "duplicate";
  readonly runId: string;
}

/**
 * Starts a run under an id that names its message. The second time it is a `duplicate`, also when the sender
 * changed something unimportant in between.
 */
export async function startOnce(
  app: Pick<App, "start">,
  { workflow, input, id }: { readonly workflow: string; readonly input?: unknown; readonly id: string },
): Promise<StartedOnce> {
  try {
    const run = await app.start(workflow, input, { id });
    return { status: run.created ? "started" : "duplicate", runId: run.id };
  } catch (error) {
    if (!DurableError.is(error, "input-mismatch")) throw error;
    return { status: "duplicate", runId: id };
  }
}
