/**
 * Puts a journal into a storage unchanged, with a head that says that the run is due, so that it can be
 * replayed. Proven in test/golden.test.ts.
 */

import type { NamedBlob, RunHead, Storage } from "@durable/core";

export interface LoadedJournal {
  readonly locator: string;
  readonly runId: string;
  /** When its first entry was written. */
  readonly createdAt: number;
  readonly batches: readonly string[];
  /** As they were read with the batches. */
  readonly blobs?: Readonly<Record<string, string>>;
}

export async function loadJournal(storage: Storage, journal: LoadedJournal): Promise<void> {
  const { locator, runId, createdAt, batches, blobs = {} } = journal;
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
  const named = placed(blobs, batches);
  for (const [position, batch] of batches.entries())
    await storage.append({ locator, position, batch, blobs: named[position] ?? [], head });
}

/**
 * A read does not say which batch named a blob. Its name is in the text of that batch; otherwise the first
 * one gets it.
 */
function placed(blobs: Readonly<Record<string, string>>, batches: readonly string[]): NamedBlob[][] {
  const named = batches.map((): NamedBlob[] => []);
  for (const [name, body] of Object.entries(blobs)) {
    const position = batches.findIndex((batch) => batch.includes(name));
    named[Math.max(0, position)]?.push({ name, body });
  }
  return named;
}
