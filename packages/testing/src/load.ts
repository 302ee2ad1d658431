/** Puts a journal into a storage as it is, to be replayed: with a head that says that somebody must drive it. */

import type { RunHead, Storage } from "@durable/core";

export interface LoadedJournal {
  readonly locator: string;
  readonly runId: string;
  /** When its first entry was written. */
  readonly createdAt: number;
  readonly batches: readonly string[];
}

export async function loadJournal(storage: Storage, journal: LoadedJournal): Promise<void> {
  const { locator, runId, createdAt, batches } = journal;
  const head: RunHead = {
    locator,
    runId,
    workflow: "",
    status: "running",
    wakeAt: 0,
    createdAt,
    updatedAt: 0,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
  };
  for (const [position, batch] of batches.entries()) await storage.append({ locator, position, batch, head });
}
