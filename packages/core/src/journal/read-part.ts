/**
 * Which batches of a run a journal reads: what is new, the current chapter, or an earlier one.
 *
 * An earlier chapter is read without the others, if the storage can do that. It is whole when the batch after it
 * begins the next one. Otherwise the run is read from its first batch.
 */

import type { ReadReply, Storage } from "../ports/storage.ts";
import { chapterOf, readBatch } from "./batch.ts";

/** A driver or a caller reads the current chapter alone; a reader of an earlier one reads that one. */
export function readPart(
  storage: Storage,
  { locator, position }: { readonly locator: string; readonly position: number },
  chapter: number | undefined,
): Promise<ReadReply> {
  if (position > 0 || storage.readChapter === undefined) return storage.read(locator, position);
  return chapter === undefined ? storage.readChapter(locator) : readEarlier(storage, locator, chapter);
}

async function readEarlier(storage: Storage, locator: string, chapter: number): Promise<ReadReply> {
  const begins = (text: string | undefined): number =>
    text === undefined ? 0 : chapterOf(readBatch(text, `A chapter of run ${locator}`));
  const current = await storage.readChapter?.(locator);
  const back = begins(current?.batches[0]) - chapter;
  if (current === undefined || back <= 0) return current ?? storage.read(locator);
  const part = await storage.readChapter?.(locator, back);
  const isWhole =
    part !== undefined &&
    part.batches.length > 1 &&
    begins(part.batches[0]) === chapter &&
    begins(part.batches.at(-1)) === chapter + 1;
  return isWhole ? { ...part, length: part.from + part.batches.length } : storage.read(locator);
}
