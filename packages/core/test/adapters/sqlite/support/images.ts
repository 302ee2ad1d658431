/**
 * H12: images of a journal file as a power cut or a bad disk may leave it. Damage to the log, where power cuts do it,
 * gives a prefix of history, in the order in which it was acknowledged. Damage to the file itself gives each run
 * whole. Either may be an error instead, and then one of ours. No image gives a record that was never written.
 */

import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DurableError } from "../../../../src/index.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import type { RunHead } from "../../../../src/ports/storage.ts";
import { damage, endOfLog } from "./damage.ts";
import { headOf, seeded } from "./samples.ts";
import { memoryFolder, tempFolder, type TempFolder } from "../../../support/sqlite-temp.ts";

/** What was damaged: the log, the file beside its log, or a file that was closed and has none. */
export type Part = "log" | "file" | "closed";

export interface ImageResult {
  readonly part: Part;
  /** `whole`: everything that was written. `shorter`: less. Else the code of the first error. */
  readonly gave: string;
  /** Records that are not what was written, and heads of runs that a list does not have any more. */
  readonly changed: readonly string[];
  readonly unlisted: number;
}

const runs = Array.from({ length: 12 }, (_, n) => `torn-run-${String(n).padStart(2, "0")}`);

interface Written {
  readonly locator: string;
  readonly text: string;
  readonly head: RunHead;
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
    const state = { steps: position, updatedAt: n, wakeAt: n * 1_000 + 0.5 };
    const head = headOf(locator, { workflow: `flow-${locator.length}`, label: `run ${locator}`, ...state });
    await storage.append({ locator, position, batch: text, head });
    lengths.set(locator, position + 1);
    history.push({ locator, text, head });
  }
  for (const suffix of ["", "-wal", "-shm"]) copyFileSync(`${path}${suffix}`, `${path}.kept${suffix}`);
  await storage.close();
  return history;
}

/** Files that are written once and damaged many times. Each image follows from the seed and its number alone. */
export class Images {
  readonly #temp: TempFolder;
  readonly #history: readonly Written[];
  readonly #seed: number;
  readonly #kept: Readonly<Record<"file" | "log" | "shm" | "closed", Buffer>>;

  private constructor(temp: TempFolder, history: readonly Written[], seed: number) {
    this.#temp = temp;
    this.#history = history;
    this.#seed = seed;
    this.#kept = {
      file: readFileSync(`${temp.path}.kept`),
      log: readFileSync(`${temp.path}.kept-wal`),
      shm: readFileSync(`${temp.path}.kept-shm`),
      closed: readFileSync(temp.path),
    };
  }

  static async make(seed: number): Promise<Images> {
    const temp = tempFolder(memoryFolder);
    return new Images(temp, await write(temp.path, seeded(seed)), seed);
  }

  remove(): void {
    this.#temp.remove();
  }

  /** Makes image `n`, opens it, reads all of it, goes on writing to it, and reads again. */
  async judge(n: number): Promise<ImageResult> {
    const random = seeded(this.#seed * 1_000_003 + n);
    const part = (["log", "file", "closed"] as const)[n % 3] as Part;
    const path = join(this.#temp.folder, "image.db");
    const { file, log, shm, closed } = this.#kept;
    const harm = (whole: Buffer, end = whole.length): Buffer => damage(whole, end, random);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    writeFileSync(path, part === "log" ? file : harm(part === "file" ? file : closed));
    if (part !== "closed") writeFileSync(`${path}-wal`, part === "log" ? harm(log, endOfLog(log)) : log);
    // An index of the log is nothing but a help: gone, from another moment, or nonsense.
    const index = random();
    if (index < 0.5) writeFileSync(`${path}-shm`, index < 0.25 ? shm : harm(shm));
    return new Reading(path, part, this.#history).judge();
  }
}

/** One image, opened and read by the library. */
class Reading {
  readonly #path: string;
  readonly #part: Part;
  #history: readonly Written[];
  readonly #changed: string[] = [];
  #unlisted = 0;
  #error: string | null = null;

  constructor(path: string, part: Part, history: readonly Written[]) {
    this.#path = path;
    this.#part = part;
    this.#history = history;
  }

  async judge(): Promise<ImageResult> {
    const all = this.#history.length;
    let total = 0;
    const storage = await this.#try(async () => new SqliteStorage(this.#path));
    if (storage !== null) {
      total = await this.#readAll(storage);
      if (this.#part === "log") this.#history = this.#history.slice(0, total);
      await this.#writeOn(storage);
      await this.#readAll(storage);
      await this.#try(() => storage.close());
    }
    const gave = this.#error ?? (total === all ? "whole" : "shorter");
    return { part: this.#part, gave, changed: this.#changed, unlisted: this.#unlisted };
  }

  /** Anything but an error of ours is a fault of the library. */
  async #try<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!DurableError.is(error)) throw error;
      this.#error ??= error.code;
      return null;
    }
  }

  /** How many batches there are. */
  async #readAll(storage: SqliteStorage): Promise<number> {
    const found: { locator: string; batches: readonly string[] | null; length: number }[] = [];
    for (const locator of runs) {
      const reply = await this.#try(() => storage.read(locator));
      found.push({ locator, batches: reply?.batches ?? null, length: reply?.length ?? 0 });
      if (reply?.deleted === true) this.#changed.push(`${locator} is deleted`);
    }
    const total = found.reduce((sum, { batches }) => sum + (batches?.length ?? 0), 0);
    // A log that was cut ends history for all runs at one moment.
    const known = this.#part === "log" ? this.#history.slice(0, total) : this.#history;
    for (const { locator, batches, length } of found) {
      const expected = known.flatMap((written) => (written.locator === locator ? [written.text] : []));
      const same = batches?.length === expected.length && batches.every((text, at) => text === expected[at]);
      if (batches !== null && (!same || length !== batches.length))
        this.#changed.push(`${locator} has ${batches.length} batches, of ${expected.length} written`);
    }
    await this.#readHeads(storage, known);
    return total;
  }

  async #readHeads(storage: SqliteStorage, known: readonly Written[]): Promise<void> {
    const page = await this.#try(() => storage.list({ limit: 200 }));
    if (page === null) return;
    const heads = new Map(known.map(({ locator, head }) => [locator, JSON.stringify(head)]));
    // The columns of a lease have no checksum, because it only saves work.
    for (const { driven: _, ...head } of page.runs)
      if (JSON.stringify(head) !== heads.get(head.locator)) this.#changed.push(`head of ${head.locator}`);
    this.#unlisted += heads.size - new Set(page.runs.map(({ locator }) => locator)).size;
  }

  async #writeOn(storage: SqliteStorage): Promise<void> {
    const history = [...this.#history];
    for (const locator of runs) {
      const position = history.filter((written) => written.locator === locator).length;
      const head = headOf(locator, {
        ...history.findLast((one) => one.locator === locator)?.head,
        steps: position,
      });
      const text = `more of ${locator}`;
      // Where this is refused, what is read later must be what was there before.
      const done = await this.#try(() =>
        storage.append({ locator, position, batch: text, head }).then(() => true),
      );
      if (done === true) history.push({ locator, text, head });
    }
    this.#history = history;
  }
}
