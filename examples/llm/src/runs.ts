/** What the demos ask of a run that may not be there. */

import { DurableError, type App, type Entry, type Run } from "@durable/core";

/** What the journal of a run holds; nothing if there is no such run. */
export async function entriesOf(run: Pick<Run, "entries">): Promise<Entry[]> {
  return run.entries().catch((error: unknown) => {
    unlessMissing(error);
    return [];
  });
}

/** Deletes a run, if there is one. */
export async function forget(app: App, id: string): Promise<void> {
  await app.delete(id).catch(unlessMissing);
}

function unlessMissing(error: unknown): void {
  if (!DurableError.is(error, "not-found")) throw error;
}
