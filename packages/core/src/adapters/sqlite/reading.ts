/** A run as it is read: from one state of the file, and checked against its sums (sqlite-storage.2). */

import type { ReadReply } from "../../ports/storage.ts";
import { bodiesOf } from "./blobs.ts";
import { droppedOf } from "./chapters.ts";
import { headOf, noteOf, type Row, type Statements } from "./statements.ts";
import { checkPart, checkRun } from "./sums.ts";

interface Rows {
  readonly run: Row | undefined;
  readonly from: number;
  readonly batches: Row[];
  readonly blobs: Row[];
}

/** Batches from a position on; `null` is the beginning of the current chapter. */
interface Asked {
  readonly locator: string;
  readonly from: number | null;
  readonly path: string;
}

export function readRun(sql: Statements, asked: Asked): ReadReply {
  const { locator, path } = asked;
  const { run, from, batches, blobs } = rowsOf(sql, asked);
  if (run !== undefined) checkRun(run, path);
  const dropped = droppedOf(run);
  const length = Number(run?.["length"] ?? 0);
  checkPart({ locator, from: from - dropped, length, batches, blobs }, path);
  const note = run === undefined ? null : noteOf(run);
  return {
    batches: batches.map(({ body }) => body as string),
    length: length + dropped,
    deleted: run?.["deleted"] === 1,
    ...(from !== asked.from && { from }),
    ...(run?.["deleted"] === 0 && { head: headOf(run) }),
    ...(note !== null && { blocked: note }),
    ...(blobs.length > 0 && { blobs: bodiesOf(blobs) }),
  };
}

/** Reads all rows from one state of the file. */
function rowsOf(sql: Statements, asked: Asked): Rows {
  const { locator } = asked;
  sql.snapshot.run();
  try {
    const run = sql.run.get(locator) as Row | undefined;
    const chapter = Number(run?.["chapter"] ?? 0);
    const from = Math.max(asked.from ?? chapter, droppedOf(run));
    const place = [locator, from - droppedOf(run)] as const;
    const batches = sql.batches.all(...place) as Row[];
    const blobs = sql.blobs.all(...place) as Row[];
    if (chapter > 0) blobs.push(...(sql.blobsAgain.all(...place) as Row[]));
    return { run, from, batches, blobs };
  } finally {
    try {
      sql.release.run();
    } catch {
      // After some errors SQLite releases it by itself. The first error is the one to report.
    }
  }
}
