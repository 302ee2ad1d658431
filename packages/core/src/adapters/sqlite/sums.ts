/**
 * Checksums of the stored rows. SQLite checks its write-ahead log, but not the pages of the file itself: a bit that
 * flips there would be returned as data.
 *
 * sums.1. Anything that differs from what was written is `corrupt`: a batch that was changed or moved, is missing or
 *     extra; a blob that was changed or is missing, or that is no longer linked to its batch.
 * sums.2. Every row has its checksum. Only a text that is missing has none.
 */

import { DurableError } from "../../values/errors.ts";
import type { Row, Value } from "./statements.ts";

/**
 * Checksum of a batch. It covers the position, so that a moved batch is detected, and the names of the blobs that the
 * batch is the first of its chapter to name, in any order, so that a missing name is detected.
 */
export function batchSum(locator: string, position: number, body: string, names?: readonly string[]): number {
  let start = crc32(locator) + position;
  if (names !== undefined) for (const name of names) start += crc32(`${name}\n`);
  return crc32(body, start % 2 ** 32);
}

/** Checksum of a blob. It covers the name, so that two swapped blobs are detected. */
export function blobSum(name: string, body: string): number {
  return crc32(body, crc32(name));
}

/**
 * Checksum of the columns that change with every append; `fold` is status, wake time, time of update and steps. The place
 * among due runs is not one of them: nothing but the order in which runs are taken rests on it.
 */
export function headSum(
  locator: string,
  fold: readonly Value[],
  state: { readonly length: number; readonly deleted: boolean },
): number {
  return sumOf([locator, ...fold, state.length, state.deleted ? 1 : 0]);
}

/** Checksum of values as SQLite stores them, in UTF-8. A lone surrogate counts as the character it is read back as. */
export function sumOf(values: readonly Value[]): number {
  let text = "";
  for (const value of values) text += value === null ? "-\n" : `+${value}\n`;
  return crc32(text);
}

const about = ["locator", "run_id", "workflow", "created_at", "label", "parent", "ancestors"] as const;
/** The columns of `headSum`. */
const fold = ["status", "wake_at", "updated_at", "steps"] as const;

function pick(row: Row, names: readonly string[]): Value[] {
  return names.map((name) => row[name] ?? null);
}

/** Checksum of the columns that chapters have changed: the current one, what was dropped, what is read of ancestors. */
export function chapterSum(locator: string, chapter: Value, dropped: Value, readsFrom: Value): number {
  return sumOf([locator, chapter, dropped, readsFrom]);
}

/** Checksum of tags and version. */
export function tagsSum(locator: string, tags: Value, version: Value): number {
  return sumOf([locator, tags, version]);
}

/** Checksum of a note, a report or marks. It covers the locator, so that the text of another run is detected. */
export function textSum(locator: string, text: string): number {
  return sumOf([locator, text]);
}

/** Checks the row of a run. */
export function checkRun(row: Row, path: string): void {
  const locator = String(row["locator"]);
  const state = { length: Number(row["length"]), deleted: row["deleted"] !== 0 };
  const { chapter = null, dropped = null, reads_from: from = null } = row;
  const { tags = null, version = null } = row;
  const isAsWritten =
    row["about_sum"] === sumOf(pick(row, about)) &&
    row["head_sum"] === headSum(locator, pick(row, fold), state) &&
    row["chapter_sum"] === chapterSum(locator, chapter, dropped, from) &&
    ((tags === null && version === null) || row["tags_sum"] === tagsSum(locator, tags, version));
  if (!isAsWritten) throw damagedHead(row, path);
  checkNote(row, path);
}

/** Checks the note, the report and the marks of a row. */
export function checkNote(row: Row, path: string): void {
  const locator = String(row["locator"]);
  for (const name of ["blocked", "report", "marks"]) {
    const text = row[name] ?? null;
    if (text !== null && row[`${name}_sum`] !== textSum(locator, String(text))) throw damagedHead(row, path);
  }
}

function damagedHead({ run_id: runId, locator }: Row, path: string): DurableError {
  return damaged(path, `the head of run ${String(runId)} (${String(locator)}) differs from what was written`);
}

/** A part of a journal, and the length of the whole. */
interface Part {
  readonly locator: string;
  readonly from: number;
  readonly length: number;
  readonly batches: readonly Row[];
  /** The blobs that these batches are the first to name. */
  readonly blobs: readonly Row[];
}

/** Checks that the batches from `from` on have no gap, and that each of them and its blobs are as written. */
export function checkPart({ locator, from, length, batches, blobs }: Part, path: string): void {
  const expected = Math.max(0, length - from);
  if (batches.length !== expected)
    throw damaged(path, `it has ${batches.length} of ${expected} batches of the journal ${locator}`);
  const names = checkBlobs(blobs, locator, path);
  batches.forEach(({ position, body, sum }, index) => {
    const isIt = position === from + index && typeof body === "string";
    if (!isIt || sum !== batchSum(locator, position, body, names.get(position)))
      throw damaged(path, `batch ${from + index} of the journal ${locator} differs from what was written`);
  });
}

/** Checks that each blob exists and is as written; returns the names by the position of their batch. */
function checkBlobs(blobs: readonly Row[], locator: string, path: string): Map<unknown, string[]> {
  const names = new Map<unknown, string[]>();
  for (const { position, name, body, sum } of blobs) {
    if (typeof name !== "string" || typeof body !== "string" || sum !== blobSum(name, body)) {
      const what = body === null ? "is missing" : "differs from what was written";
      throw damaged(path, `blob ${String(name)} of the journal ${locator} ${what}`);
    }
    const others = names.get(position);
    if (others === undefined) names.set(position, [name]);
    else others.push(name);
  }
  return names;
}

export function damaged(path: string, what: string): DurableError {
  return new DurableError(
    "corrupt",
    `The journal file "${path}" is damaged: ${what}. Restore it from a backup.`,
  );
}

/** The module is many times quicker, and takes a few milliseconds to load: as long as this many characters without it. */
const worthLoading = 65_536;
let summed = 0;

const table = new Uint32Array(256);
for (let n = 0; n < 256; n++) {
  let sum = n;
  for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ 0xed_b8_83_20;
  table[n] = sum;
}

/** `start` is the sum of what comes before the text. */
export function crc32(text: string, start = 0): number {
  summed += text.length;
  if (summed > worthLoading) return native(text, start);
  let sum = ~start;
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    // Other characters have several bytes.
    if (code > 0x7f) return native(text, start);
    sum = (sum >>> 8) ^ (table[(sum ^ code) & 0xff] as number);
  }
  return ~sum >>> 0;
}

let loaded: typeof crc32 | undefined;

function native(text: string, start: number): number {
  loaded ??= process.getBuiltinModule("node:zlib").crc32;
  return loaded(text, start);
}
