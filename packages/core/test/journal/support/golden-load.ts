/** Puts a golden journal into a storage, so that its run can go on. */

import { MemoryStorage, type RunHead, type Storage } from "@durable/core";
import type { GoldenJournal } from "@durable/testing";
import { locatorOf } from "../../../src/journal/keys.ts";

/** For journals of which nothing was dropped, and without blobs of other runs. */
export async function loadGolden(
  { runId, batches, blobs = {}, ancestors = [], children = [] }: GoldenJournal,
  now: () => number,
): Promise<Storage> {
  const storage = new MemoryStorage({ now });
  for (const journal of [...ancestors, ...children, { runId, batches, blobs }]) {
    const texts = journal.batches.map((batch) => (typeof batch === "string" ? batch : JSON.stringify(batch)));
    const head: RunHead = {
      locator: locatorOf(journal.runId),
      runId: journal.runId,
      workflow: "",
      status: "suspended",
      wakeAt: null,
      dueSince: null,
      createdAt: Number(/"at":(\d+)/.exec(texts[0] ?? "")?.[1]),
      updatedAt: 0,
      steps: 0,
      label: null,
      parent: null,
      ancestors: [],
    };
    // Each chapter names its blobs anew, so the first batch of each gets all of them.
    const bodies = Object.entries(journal.blobs ?? {}).map(([name, body]) => ({ name, body }));
    let chapter = 0;
    for (const [position, batch] of texts.entries()) {
      if (batch.includes('"kind":"run.continued"')) chapter = position;
      await storage.append({
        locator: head.locator,
        position,
        batch,
        head: chapter === 0 ? head : { ...head, chapter },
        blobs: position === chapter ? bodies : [],
      });
    }
  }
  return storage;
}
