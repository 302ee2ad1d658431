/**
 * H12: images of a file and its log as a power cut may leave them: the log cut off anywhere, or with bytes changed.
 * What is then read is a prefix of history, in the order in which it was acknowledged, or a loud error.
 */

import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DurableError } from "../../src/index.ts";
import { SqliteStorage } from "../../src/sqlite/index.ts";
import { headOf, seeded } from "./sqlite-samples.ts";
import { memoryFolder, tempFolder } from "./sqlite-temp.ts";

export interface TornReport {
  readonly images: number;
  /** Images by what they gave: everything, a shorter prefix, or an error. */
  readonly whole: number;
  readonly shorter: number;
  readonly errors: number;
}

export interface TornOptions {
  readonly images: number;
  readonly seed: number;
  readonly progress?: (report: TornReport) => void;
}

const runs = Array.from({ length: 4 }, (_, n) => `torn-run-${n}`);
const pageSize = 4_096;
const frameSize = pageSize + 24;

interface Written {
  readonly locator: string;
  readonly text: string;
}

/** Appends one after the other, so that history has one order; part of it is moved into the file itself. */
async function write(path: string, random: () => number): Promise<Written[]> {
  const storage = new SqliteStorage(path);
  const history: Written[] = [];
  const lengths = new Map<string, number>();
  for (let n = 0; n < 300; n++) {
    const locator = runs[Math.floor(random() * runs.length)] as string;
    const position = lengths.get(locator) ?? 0;
    const text = `${n} ${locator} ${position} ${"ü".repeat(Math.floor(random() ** 3 * 3_000))}`;
    await storage.append({ locator, position, batch: text, head: headOf(locator, { steps: position }) });
    lengths.set(locator, position + 1);
    history.push({ locator, text });
  }
  for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${path}.kept${suffix}`);
  await storage.close();
  return history;
}

/** Where the log ends: what lies behind it are frames of a former round, with other salts. */
function endOf(log: Buffer): number {
  const salts = log.subarray(16, 24);
  let end = 32;
  while (end + frameSize <= log.length && log.subarray(end + 8, end + 16).equals(salts)) end += frameSize;
  return end;
}

/** One damaged copy of the log. Half of the damage is near its end, where a power cut does it. */
function damage(log: Buffer, random: () => number): Buffer {
  const end = endOf(log);
  const start = random() < 0.5 ? Math.max(0, end - 12 * frameSize) : 0;
  const offset = start + Math.floor(random() * (end - start));
  const kind = random();
  if (kind < 0.5) return log.subarray(0, offset);
  const changed = Buffer.from(log);
  if (kind < 0.75) changed[offset] = (changed[offset] as number) ^ (1 << Math.floor(random() * 8));
  // A page that was not written: zeros, or what stood there before.
  else if (kind < 0.9) changed.fill(0, offset, offset + 512);
  else changed.copyWithin(offset, 0, 512);
  return changed;
}

/** How much of history an image gives: a number of batches, or the code of an error. */
async function read(path: string, history: readonly Written[]): Promise<number | string> {
  let storage: SqliteStorage | null = null;
  try {
    storage = new SqliteStorage(path);
    const found = await Promise.all(runs.map((run) => (storage as SqliteStorage).read(run)));
    const total = found.reduce((sum, { batches }) => sum + batches.length, 0);
    runs.forEach((run, index) => {
      const expected = history
        .slice(0, total)
        .flatMap(({ locator, text }) => (locator === run ? [text] : []));
      const { batches, length } = found[index] as (typeof found)[number];
      const same = batches.length === expected.length && batches.every((text, at) => text === expected[at]);
      if (!same || length !== batches.length) throw new Error(`${run} is no prefix of history`);
    });
    const heads = (await storage.list()).runs;
    const known = new Set(history.slice(0, total).map(({ locator }) => locator));
    if (heads.length !== known.size) throw new Error(`${heads.length} heads for ${known.size} runs`);
    return total;
  } catch (error) {
    if (!DurableError.is(error)) throw error;
    return error.code;
  } finally {
    await storage?.close();
  }
}

export async function tearLogs({ images, seed, progress }: TornOptions): Promise<TornReport> {
  const temp = tempFolder(memoryFolder);
  const random = seeded(seed);
  const report = { images: 0, whole: 0, shorter: 0, errors: 0 };
  try {
    const history = await write(temp.path, random);
    const log = readFileSync(`${temp.path}.kept-wal`);
    const image = join(temp.folder, "image.db");
    while (report.images < images) {
      copyFileSync(`${temp.path}.kept`, image);
      writeFileSync(`${image}-wal`, damage(log, random));
      rmSync(`${image}-shm`, { force: true });
      const given = await read(image, history);
      report.images += 1;
      if (typeof given === "string") report.errors += 1;
      else if (given === history.length) report.whole += 1;
      else report.shorter += 1;
      progress?.({ ...report });
    }
    return report;
  } finally {
    temp.remove();
  }
}
