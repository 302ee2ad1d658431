/**
 * Puts a journal into a storage unchanged, with a head that says that the run is due, so that it can be
 * replayed. Proven in test/golden.test.ts.
 */

import type { RunHead, Storage } from "@durable/core";
import type { NamedBlob } from "@durable/core/storage";

/** A journal as a storage returned it, to be loaded into another one. */
export interface LoadedJournal {
  readonly locator: string;
  readonly runId: string;
  /** When its first entry was written. */
  readonly createdAt: number;
  readonly batches: readonly string[];
  /** The position of the first batch, where a chapter begins; 0 by default. Earlier ones were dropped. */
  readonly from?: number;
  /** As they were read with the batches. */
  readonly blobs?: Readonly<Record<string, string>>;
}

/** Puts a journal into a storage unchanged, as a run that is due. */
export async function loadJournal(storage: Storage, journal: LoadedJournal): Promise<void> {
  const { locator, runId, createdAt, batches, blobs = {}, from = 0 } = journal;
  const head: RunHead = {
    locator,
    runId,
    workflow: "",
    status: "running",
    wakeAt: 0,
    dueSince: createdAt,
    createdAt,
    updatedAt: 0,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
  };
  for (let position = 0; position < from; position++)
    await storage.append({ locator, position, batch: "dropped", head });
  for (const [start, chapter] of chaptersOf(batches)) {
    const named = placed(blobs, chapter);
    const first = from + start;
    for (const [index, batch] of chapter.entries()) {
      const request = { locator, position: first + index, batch, blobs: named[index] ?? [] };
      await storage.append({ ...request, head: first === 0 ? head : { ...head, chapter: first } });
    }
  }
  if (from > 0) await storage.dropChapters?.(locator, from);
}

/** The batches of each chapter, with the index of the first. */
function chaptersOf(batches: readonly string[]): (readonly [start: number, chapter: readonly string[]])[] {
  const begins = /^\{"v":\d+,"by":"[^"]*","entries":\[\{"at":\d+,"kind":"run\.continued"/;
  const starts = [...batches.keys()].filter((index) => index === 0 || begins.test(batches[index] ?? ""));
  return starts.map((start, i) => [start, batches.slice(start, starts[i + 1])]);
}

/**
 * A read does not say which batch named a blob, and each chapter names its own. The name is in the text of the
 * batch, unless it is encrypted: then the first batch gets it.
 */
function placed(blobs: Readonly<Record<string, string>>, batches: readonly string[]): NamedBlob[][] {
  const named = batches.map((): NamedBlob[] => []);
  for (const [name, body] of Object.entries(blobs)) {
    const position = batches.findIndex((batch) => batch.includes(name));
    named[Math.max(0, position)]?.push({ name, body });
  }
  return named;
}
