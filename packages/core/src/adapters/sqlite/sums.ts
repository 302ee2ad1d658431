/**
 * Short sums of what is stored. SQLite guards its log, but not the pages of the file itself: a bit that flips
 * there would come back as data.
 *
 * sums.1. What is read and is not what was written is `corrupt`: a batch that changed, moved, is missing or is too many;
 *     a blob that changed or is missing, or of which it is not known any more who named it.
 * sums.2. `null` is what files had before there were sums, and what older builds leave: such rows are believed.
 */

import * as zlib from "node:zlib";
import { DurableError } from "../../values/errors.ts";
import type { Row, Value } from "./statements.ts";

/**
 * Of a batch at its place, so that one that turns up elsewhere is noticed, and of the blobs it was the first of its
 * run to name, in any order, so that none of them is forgotten: any other start gives another sum.
 */
export function batchSum(locator: string, position: number, body: string, names?: readonly string[]): number {
  let start = zlib.crc32(locator) + position;
  if (names !== undefined) for (const name of names) start += zlib.crc32(`${name}\n`);
  return zlib.crc32(body, start % 2 ** 32);
}

/** Of a blob under its name, so that two that changed places are noticed. */
export function blobSum(name: string, body: string): number {
  return zlib.crc32(body, zlib.crc32(name));
}

/** Of what changes with every append; `fold` is status, wake time, time of update and steps. */
export function headSum(
  locator: string,
  fold: readonly Value[],
  state: { readonly length: number; readonly deleted: boolean },
): number {
  return sumOf([locator, ...fold, state.length, state.deleted ? 1 : 0]);
}

/** Of values as SQLite keeps them: UTF-8, in which a lone surrogate is what it is read back as. */
export function sumOf(values: readonly Value[]): number {
  let text = "";
  for (const value of values) text += value === null ? "-\n" : `+${value}\n`;
  return zlib.crc32(text);
}

const about = ["locator", "run_id", "workflow", "created_at", "label", "parent", "ancestors"] as const;
const fold = ["status", "wake_at", "updated_at", "steps"] as const;

function pick(row: Row, names: readonly string[]): Value[] {
  return names.map((name) => row[name] ?? null);
}

/** The row of a run, whole. */
export function checkRun(row: Row, path: string): void {
  const locator = String(row["locator"]);
  const state = { length: Number(row["length"]), deleted: row["deleted"] !== 0 };
  const sums = [
    [row["about_sum"], sumOf(pick(row, about))],
    [row["head_sum"], headSum(locator, pick(row, fold), state)],
  ];
  if (sums.some(([kept, found]) => kept !== null && kept !== found))
    throw damaged(path, `the head of run ${String(row["run_id"])} (${locator}) is not what was written`);
}

/** A part of a journal, and how long the whole is. */
interface Part {
  readonly locator: string;
  readonly from: number;
  readonly length: number;
  readonly batches: readonly Row[];
  /** What these batches were the first to name. */
  readonly blobs: readonly Row[];
}

/** Batches `from` to the end: dense, and each as it was written, with all the blobs that it names. */
export function checkPart({ locator, from, length, batches, blobs }: Part, path: string): void {
  const expected = Math.max(0, length - from);
  if (batches.length !== expected)
    throw damaged(path, `it has ${batches.length} of ${expected} batches of the journal ${locator}`);
  const names = checkBlobs(blobs, locator, path);
  batches.forEach(({ position, body, sum }, index) => {
    const isIt = position === from + index && typeof body === "string";
    if (!isIt || (sum !== null && sum !== batchSum(locator, position, body, names.get(position))))
      throw damaged(path, `batch ${from + index} of the journal ${locator} is not what was written`);
  });
}

/** Each there and as it was written; gives the names by the position of the batch. */
function checkBlobs(blobs: readonly Row[], locator: string, path: string): Map<unknown, string[]> {
  const names = new Map<unknown, string[]>();
  for (const { position, name, body, sum } of blobs) {
    if (typeof name !== "string" || typeof body !== "string" || sum !== blobSum(name, body)) {
      const what = body === null ? "missing" : "not what was written";
      throw damaged(path, `blob ${String(name)} of the journal ${locator} is ${what}`);
    }
    const others = names.get(position);
    if (others === undefined) names.set(position, [name]);
    else others.push(name);
  }
  return names;
}

function damaged(path: string, what: string): DurableError {
  return new DurableError(
    "corrupt",
    `The journal file ${path} is damaged: ${what}. Restore it from a backup.`,
  );
}
