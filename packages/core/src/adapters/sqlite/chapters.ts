/**
 * Chapters in the tables.
 *
 * sqlite-chapters.1. Positions in the file count from the first batch that is kept (schema.ts). Callers count from the first
 *     batch that ever was: `dropped` is the difference.
 * sqlite-chapters.2. Batches are dropped up to the beginning of a chapter, and only if no fork reads them. So a batch that is
 *     kept never refers to a blob that was dropped.
 * sqlite-chapters.3. What is kept is checked before its checksums are written anew, so that damage is not covered up.
 */

import { noChapter, readsFrom, stillRead } from "../../ports/storage-kit.ts";
import type { RunHead } from "../../ports/storage.ts";
import { insertBatch } from "./blobs.ts";
import { headOf, type Row, type Statements } from "./statements.ts";
import { chapterSum, checkPart, checkRun, fold, headSum } from "./sums.ts";

export function droppedOf(run: Row | undefined): number {
  return Number(run?.["dropped"] ?? 0);
}

/** How many batches were dropped of the run that gets a batch. A run without chapters has dropped none. */
export function droppedBefore({ partOf }: Statements, { locator, chapter = 0 }: RunHead): number {
  return chapter === 0 ? 0 : droppedOf(partOf.get(locator) as Row | undefined);
}

/** Records what the head says about chapters, after the row of the run was written. */
export function keepChapter(sql: Statements, head: RunHead, position: number): void {
  const { locator, chapter } = head;
  if (position === 0 && head.readsFrom !== undefined) {
    const text = JSON.stringify(head.readsFrom);
    sql.setReadsFrom.run(text, chapterSum(locator, null, null, text), locator);
  }
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

/** Removes the batches before a position. It checks everything before it writes anything. */
export function dropChapters(sql: Statements, locator: string, before: number, path: string): void {
  const run = sql.run.get(locator) as Row | undefined;
  if (run === undefined || run["deleted"] !== 0 || before <= droppedOf(run)) return;
  checkRun(run, path);
  const { runId } = headOf(run);
  if (sql.hasChapter.get(locator, before) === undefined) throw noChapter(runId, before);
  const forks = sql.readers.all(locator) as Row[];
  if (forks.some((fork) => readsFrom(rangesOf(fork), locator) < before)) throw stillRead(runId, before);
  const by = before - droppedOf(run);
  const kept = sql.batches.all(locator, by) as Row[];
  const again = sql.blobsAgain.all(locator, by) as Row[];
  const blobs = [...(sql.blobs.all(locator, by) as Row[]), ...again];
  checkPart({ locator, from: by, length: Number(run["length"]), batches: kept, blobs }, path);
  moveNames(sql, locator, by, again);
  moveBatches(sql, locator, by, kept);
  sql.dropChapters.run(locator, before);
  const length = Number(run["length"]) - by;
  sql.shorten.run(
    by,
    before,
    chapterSum(locator, run["chapter"] ?? null, before, run["reads_from"] ?? null),
    headSum(
      locator,
      fold.map((name) => run[name] ?? null),
      { length, deleted: false },
    ),
    locator,
  );
}

/** What a fork reads; a build without chapters does not say from where. */
function rangesOf({ ancestors, reads_from: from = null }: Row): Pick<RunHead, "ancestors" | "readsFrom"> {
  const parsed = JSON.parse(String(ancestors)) as string[];
  return from === null
    ? { ancestors: parsed }
    : { ancestors: parsed, readsFrom: JSON.parse(String(from)) as number[] };
}

/** A name whose first batch is dropped moves to the first that is kept; a name without one goes, with its blob. */
function moveNames(sql: Statements, locator: string, by: number, again: readonly Row[]): void {
  sql.dropAgain.run(locator);
  for (const row of again) {
    const [name, position] = [String(row["name"]), Number(row["position"])];
    const moved = Number(sql.moveName.run(position, name, locator, by).changes) === 1;
    if (!moved) sql.nameAgain.run(name, locator, position - by);
  }
  sql.dropNames.run(locator, by);
  sql.shiftNames.run(by, locator);
}

function moveBatches(sql: Statements, locator: string, by: number, kept: readonly Row[]): void {
  const [named, again] = [sql.blobs, sql.blobsAgain].map((statement) =>
    Map.groupBy(statement.all(locator, 0) as Row[], ({ position }) => position),
  );
  sql.dropBatches.run(locator);
  for (const row of kept) {
    const position = Number(row["position"]) - by;
    const names = [named, again].flatMap((rows) => rows?.get(position) ?? []).map(({ name }) => String(name));
    insertBatch(sql, { locator, position, dropped: true }, String(row["body"]), { names, again: true });
  }
}
