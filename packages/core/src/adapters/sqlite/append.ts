/** One append, in the tables of the file. It runs inside a commit (commits.ts). */

import {
  conflict,
  droppedConflict,
  dueOrder,
  marksText,
  placeFor,
  waitsUntil,
} from "../../ports/storage-kit.ts";
import type { AppendRequest, RunHead } from "../../ports/storage.ts";
import type { DurableError } from "../../values/errors.ts";
import { nameBlobs, refusalOf } from "./blobs.ts";
import { keepChapter, readsDropped } from "./chapters.ts";
import { keepTags } from "./list-text.ts";
import { thisProcess } from "./process.ts";
import { isLate, keepFlow, refuseSingleton } from "./slots.ts";
import type { Row, Statements, Value } from "./statements.ts";
import { batchSum, chapterSum, headSum, sumOf, textSum } from "./sums.ts";

/** Writes head, batch, blobs, lease and readers. Everything is checked before anything is written. */
export function appendBatch(sql: Statements, request: AppendRequest, now: number): void {
  const { locator, position, batch, blobs = [], head, report } = request;
  const lease = isLate(sql, request, now) ? undefined : request.lease;
  refuse(sql, request, refusalOf(sql, head.runId, blobs));
  refuseSingleton(sql, request);
  const folded: Value[] = [head.status, head.wakeAt, head.updatedAt, head.steps];
  const sum = headSum(locator, folded, { length: position + 1, deleted: false });
  const order = dueOrder(head);
  const isAsleep = Number(head.wakeAt !== null && head.wakeAt > 0);
  const fold = [...folded, order, sum, isAsleep];
  const claim = lease ? [lease.owner, thisProcess, now + lease.ttlMs] : [null, null, null];
  const { create, grow, growOn, growAndLease, addReader } = sql;
  const unmoved = [locator, position, head.createdAt];
  let changes: number | bigint = 0;
  if (position === 0) {
    const { runId, workflow, createdAt, label, parent, ancestors } = head;
    const about = [locator, runId, workflow, createdAt, label, parent, JSON.stringify(ancestors)];
    const from = head.readsFrom === undefined ? null : JSON.stringify(head.readsFrom);
    const part = [from, chapterSum(locator, null, 0, from)];
    // Checked before anything is written, so that a refusal has nothing to undo.
    if (!lacks(sql, ancestors) && readsDropped(sql, head)) throw tooLate(sql, head);
    if (!lacks(sql, ancestors))
      changes = create.run(
        placeFor(createdAt, (from, to) => sql.lastPlace.get(from, to)?.["id"] as number | null),
        ...about,
        sumOf(about),
        ...part,
        ...fold,
        ...claim,
      ).changes;
  } else if (lease === undefined) changes = grow.run(...fold, ...unmoved).changes;
  else {
    const [owner, process, until] = claim as [Value, Value, Value];
    if (lease !== null)
      changes = growOn.run(
        head.updatedAt,
        head.steps,
        sum,
        until,
        ...unmoved,
        head.status,
        head.wakeAt,
        order,
        owner,
        process,
      ).changes;
    if (Number(changes) === 0) changes = growAndLease.run(...fold, ...claim, ...unmoved).changes;
  }
  if (Number(changes) === 0) throw conflict(head.runId, position, isGone(sql, head, position));
  keepChapter(sql, head, position);
  if (report !== undefined) sql.setReport.run(report, textSum(locator, report), locator);
  keepMarks(sql, request);
  keepFlow(sql, request);
  keepTags(sql, request);
  const names = nameBlobs(sql, { locator, position, chapter: head.chapter ?? 0 }, blobs);
  sql.insert.run(locator, position, batch, batchSum(locator, position, batch, names));
  if (position === 0) for (const ancestor of head.ancestors) addReader.run(ancestor, locator);
}

/** What the head says beside its columns, where it may be new. */
function keepMarks(sql: Statements, { locator, position, head, newMarks }: AppendRequest): void {
  if (position > 0 && newMarks !== true) return;
  const marks = marksText(head);
  const sum = marks === null ? null : textSum(locator, marks);
  if (position > 0 || marks !== null) sql.setMarks.run(marks, sum, waitsUntil(head), locator);
}

/** Called before anything is written. A conflict comes before other refusals, because it makes them irrelevant. */
function refuse(
  sql: Statements,
  { locator, position, head }: AppendRequest,
  refusal: DurableError | null,
): void {
  if (refusal === null) return;
  const gone = isGone(sql, head, position);
  const length = Number(sql.length.get(locator)?.["length"] ?? 0);
  if (gone || length !== position) throw conflict(head.runId, position, gone);
  throw position === 0 && readsDropped(sql, head) ? droppedConflict(head.runId) : refusal;
}

/** The refusal of a new fork whose ancestor has dropped batches; a run that exists is a conflict first. */
function tooLate(sql: Statements, head: RunHead): DurableError {
  const known = sql.length.get(head.locator) !== undefined;
  return known ? conflict(head.runId, 0, isGone(sql, head, 0)) : droppedConflict(head.runId);
}

function lacks({ length }: Statements, ancestors: readonly string[]): boolean {
  return ancestors.some((ancestor) => length.get(ancestor) === undefined);
}

/** True when the head is of an earlier run of this id, or of a new fork whose ancestor was deleted. */
function isGone(sql: Statements, { locator, createdAt, ancestors }: RunHead, position: number): boolean {
  const run = sql.run.get(locator) as Row | undefined;
  if (run === undefined) return lacks(sql, ancestors);
  return run["deleted"] === 1 || (position > 0 && run["created_at"] !== createdAt);
}
