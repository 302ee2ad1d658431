/** Reads and deletes a run that may not exist. Proven in the tests of the demos. */

import { DurableError, type App, type Run } from "@durable/core";
import type { Entry } from "@durable/core/types";

/** The entries of a run; empty if there is no such run. */
export async function entriesOf(run: Pick<Run, "entries">): Promise<Entry[]> {
  return run.entries().catch((error: unknown) => {
    unlessMissing(error);
    return [];
  });
}

/** Deletes a run, if it exists. */
export async function forget(app: App, id: string): Promise<void> {
  await app.delete(id).catch(unlessMissing);
}

function unlessMissing(error: unknown): void {
  if (!DurableError.is(error, "not-found")) throw error;
}
