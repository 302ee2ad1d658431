/**
 * H11: processes that write as fast as they can are killed at random moments, two at a time on one file.
 * After each round the file is checked without our code: no acknowledged batch is missing or changed,
 * every journal is dense and as long as its head says, and SQLite finds no damage.
 * (A kill leaves the page cache alone: what a power cut does is tried by torn images.)
 */

import { DatabaseSync } from "node:sqlite";
import { Child, killChildren } from "../../../support/child-process.ts";
import { seeded } from "./samples.ts";
import { tempFolder } from "../../../support/sqlite-temp.ts";

export const writerRuns: readonly string[] = Array.from({ length: 5 }, (_, n) => `killed-run-${n}`);

/** What a writer puts at a position: it can be told from what any other would have put there. */
export function writerText(locator: string, position: number, writer: string): string {
  const size = position % 40 === 39 ? 60_000 : (position * 37) % 900;
  return `${writer} ${locator} ${position} ${"é".repeat(size)}`;
}

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly batches: number;
  /** These must be 0: acknowledged and not there, and places that two writers were told they had won. */
  readonly lost: number;
  readonly doubled: number;
}

/** What the writers of one file were told is durable. */
interface Told {
  /** By run and position, who was told so. */
  readonly acknowledged: Map<string, string>;
  doubled: number;
}

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (report: KillReport) => void;
}

/** Every so often a new file is begun, so that checking all of it stays quick. */
const killsPerFile = 40;

export async function killWriters({ kills, seed, progress }: KillOptions): Promise<KillReport> {
  const random = seeded(seed);
  let report: KillReport = { kills: 0, acknowledged: 0, batches: 0, lost: 0, doubled: 0 };
  while (report.kills < kills) {
    const before = report;
    await killOnOneFile(Math.min(killsPerFile, kills - before.kills), random, (file) => {
      report = {
        kills: before.kills + file.kills,
        acknowledged: before.acknowledged + file.acknowledged,
        batches: before.batches + file.batches,
        lost: before.lost + file.lost,
        doubled: before.doubled + file.doubled,
      };
      progress?.(report);
    });
  }
  return report;
}

async function killOnOneFile(
  kills: number,
  random: () => number,
  tell: (report: KillReport) => void,
): Promise<void> {
  const temp = tempFolder();
  const told: Told = { acknowledged: new Map(), doubled: 0 };
  const { acknowledged } = told;
  try {
    for (let killed = 0; killed < kills;) {
      const pair = [0, 1].slice(0, kills - killed).map((lane) => `w${killed + lane}`);
      await Promise.all(
        pair.map(async (writer) => {
          for (const ack of await killOne(temp.path, writer, random)) {
            if (acknowledged.has(ack)) told.doubled += 1;
            acknowledged.set(ack, writer);
          }
        }),
      );
      killed += pair.length;
      tell({
        kills: killed,
        acknowledged: acknowledged.size,
        doubled: told.doubled,
        ...check(temp.path, acknowledged),
      });
    }
  } finally {
    await killChildren();
    temp.remove();
  }
}

/** One life: what it was told is durable. Now and then it does not live to open the file. */
async function killOne(path: string, writer: string, random: () => number): Promise<string[]> {
  const child = new Child("sqlite-child-writer.ts", [path, writer]);
  const early = random() < 0.15;
  const delay = random() * (early ? 250 : 90);
  // A busy machine may not get to a write within the delay, so the first ones are waited for.
  if (!early) await child.line("", 8);
  await new Promise((resolve) => setTimeout(resolve, delay));
  await child.kill();
  const { signal } = await child.exit;
  if (signal !== "SIGKILL") throw new Error(`The writer ended by itself: ${child.said}`);
  return child.lines.filter((line) => line !== "up");
}

function check(path: string, acknowledged: ReadonlyMap<string, string>): { batches: number; lost: number } {
  const database = new DatabaseSync(path);
  try {
    const damage = database.prepare("PRAGMA integrity_check").all();
    expectEqual(JSON.stringify(damage), '[{"integrity_check":"ok"}]', "integrity_check");
    const exists = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'runs'").get() !== undefined;
    if (!exists) return { batches: 0, lost: acknowledged.size };
    const writers = new Map(writerRuns.flatMap((locator) => checkRun(database, locator)));
    const lost = [...acknowledged].filter(([place, writer]) => writers.get(place) !== writer);
    return { batches: writers.size, lost: lost.length };
  } finally {
    database.close();
  }
}

/** Who wrote each place of a run: its journal must be dense, as long as its head says, and nobody else's. */
function checkRun(database: DatabaseSync, locator: string): [place: string, writer: string][] {
  const head = database.prepare("SELECT length, steps FROM runs WHERE locator = ?").get(locator);
  const rows = database
    .prepare("SELECT position, body FROM batches WHERE locator = ? ORDER BY position")
    .all(locator);
  expectEqual(Number(head?.["length"] ?? 0), rows.length, `length of ${locator}`);
  if (head !== undefined) expectEqual(Number(head["steps"]) + 1, rows.length, `head of ${locator}`);
  return rows.map(({ position, body }, index) => {
    expectEqual(position, index, `position in ${locator}`);
    const writer = String(body).split(" ", 1)[0] as string;
    expectEqual(body, writerText(locator, index, writer), `text of ${locator} ${index}`);
    return [`${locator} ${index}`, writer];
  });
}

function expectEqual(found: unknown, expected: unknown, what: string): void {
  if (found === expected) return;
  const [one, two] = [found, expected].map((value) => String(value).slice(0, 200));
  throw new Error(`${what}: found ${one}, expected ${two}`);
}
