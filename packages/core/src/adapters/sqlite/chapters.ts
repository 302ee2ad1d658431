/**
 * Chapters in the tables.
 *
 * sqlite-chapters.1. Batches are dropped up to the beginning of a chapter, and only if no fork reads them. A chapter names
 *     its blobs anew, so a batch that is kept never refers to a blob that was dropped.
 * sqlite-chapters.2. A head that is damaged drops nothing.
 */

import { noChapter, readsFrom, stillRead } from "../../ports/storage-kit.ts";
import type { RunHead } from "../../ports/storage.ts";
import { headOf, type Row, type Statements } from "./statements.ts";
import { chapterSum, checkRun } from "./sums.ts";

export function droppedOf(run: Row | undefined): number {
  return Number(run?.["dropped"] ?? 0);
}

/** Records what the head says about chapters, after the row of the run was written. */
export function keepChapter(sql: Statements, { locator, chapter }: RunHead, position: number): void {
  if (chapter === undefined) return;
  const { chapter: before = null, dropped = null, reads_from: from = null } = sql.partOf.get(locator) as Row;
  if (before !== chapter) sql.setChapter.run(chapter, chapterSum(locator, chapter, dropped, from), locator);
  if (chapter === position && position > 0) sql.addChapter.run(locator, position);
}

/** True when a new fork reads batches that one of its ancestors has dropped. */
export function readsDropped({ partOf }: Statements, head: RunHead): boolean {
  return head.ancestors.some(
    (ancestor) => readsFrom(head, ancestor) < droppedOf(partOf.get(ancestor) as Row | undefined),
  );
}

/** Removes the batches before a position, with their names. It checks everything before it writes anything. */
export function dropChapters(sql: Statements, locator: string, before: number, path: string): void {
  const run = sql.run.get(locator) as Row | undefined;
  if (run === undefined || run["deleted"] !== 0 || before <= droppedOf(run)) return;
  checkRun(run, path);
  const { runId } = headOf(run);
  if (sql.hasChapter.get(locator, before) === undefined) throw noChapter(runId, before);
  const forks = sql.readers.all(locator) as Row[];
  if (forks.some((fork) => readsFrom(rangesOf(fork), locator) < before)) throw stillRead(runId, before);
  sql.dropEarlyBatches.run(locator, before);
  sql.dropEarlyNames.run(locator, before);
  sql.dropEarlyChapters.run(locator, before);
  const { chapter = null, reads_from: from = null } = run;
  sql.setDropped.run(before, chapterSum(locator, chapter, before, from), locator);
}

/** What a fork reads; one that reads all of its ancestors does not say from where. */
function rangesOf({ ancestors, reads_from: from = null }: Row): Pick<RunHead, "ancestors" | "readsFrom"> {
  const parsed = JSON.parse(String(ancestors)) as string[];
  return from === null || from === ""
    ? { ancestors: parsed }
    : { ancestors: parsed, readsFrom: JSON.parse(String(from)) as number[] };
}
