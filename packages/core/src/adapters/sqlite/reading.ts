/** A run as it is read: from one state of the file, and checked against its sums (sqlite-storage.2). */

import type { StatementSync } from "node:sqlite";
import type { ReadReply } from "../../ports/storage.ts";
import { bodiesOf } from "./blobs.ts";
import { droppedOf } from "./chapters.ts";
import { isDead } from "./process.ts";
import { headOf, isLeased, noteOf, type Row, type Statements } from "./statements.ts";
import { checkPart, checkRun } from "./sums.ts";

interface Rows {
  readonly run: Row | undefined;
  readonly from: number;
  /** The position after the batches. */
  readonly to: number;
  readonly batches: Row[];
  readonly blobs: Row[];
}

/** Batches from a position on; `null` is the beginning of the current chapter, or of the one `back` chapters before it. */
interface Asked {
  readonly locator: string;
  readonly from: number | null;
  readonly back?: number;
  readonly now: number;
  readonly path: string;
}

export function readRun(sql: Statements, asked: Asked): ReadReply {
  const { locator, path } = asked;
  const { run, from, to, batches, blobs } = rowsOf(sql, asked);
  if (run !== undefined) checkRun(run, path);
  const length = Number(run?.["length"] ?? 0);
  checkPart({ locator, from, length: Math.min(length, to), batches, blobs }, path);
  const note = run === undefined ? null : noteOf(run);
  return {
    batches: batches.map(({ body }) => body as string),
    length,
    deleted: run?.["deleted"] === 1,
    ...(from !== asked.from && { from }),
    ...(run?.["deleted"] === 0 && { head: headOf(run) }),
    ...(note !== null && { blocked: note }),
    ...(run !== undefined && { driven: isLeased(run, asked.now) && !isDead(String(run["process"])) }),
    ...(blobs.length > 0 && { blobs: bodiesOf(blobs) }),
  };
}

/** Where an earlier chapter begins, and where the one after it has begun. */
function earlierChapter(
  sql: Statements,
  locator: string,
  back: number,
): { readonly from: number; readonly to: number } {
  const [next, begin] = sql.chaptersBack.all(locator, back - 1) as Row[];
  return { from: Number(begin?.["position"] ?? 0), to: Number(next?.["position"] ?? 0) + 1 };
}

/** Rows from a place on, in the order of their positions, before one. */
function upTo(end: number, rows: StatementSync, place: readonly [string, number]): Row[] {
  if (end === Infinity) return rows.all(...place) as Row[];
  const found: Row[] = [];
  for (const row of rows.iterate(...place) as Iterable<Row>) {
    if (Number(row["position"]) >= end) break;
    found.push(row);
  }
  return found;
}

/** Reads all rows from one state of the file. */
function rowsOf(sql: Statements, asked: Asked): Rows {
  const { locator } = asked;
  sql.snapshot.run();
  try {
    const run = sql.run.get(locator) as Row | undefined;
    const chapter = Number(run?.["chapter"] ?? 0);
    const earlier = asked.back ? earlierChapter(sql, locator, asked.back) : { from: chapter, to: Infinity };
    const from = Math.max(asked.from ?? earlier.from, droppedOf(run));
    const to = asked.from === null ? earlier.to : Infinity;
    const place = [locator, from] as const;
    return { run, from, to, batches: upTo(to, sql.batches, place), blobs: upTo(to, sql.blobs, place) };
  } finally {
    try {
      sql.release.run();
    } catch {
      // After some errors SQLite releases it by itself. The first error is the one to report.
    }
  }
}
