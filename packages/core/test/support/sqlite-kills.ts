/**
 * H11: processes that write as fast as they can are killed at random moments, two at a time on one file.
 * After each round the file is checked without our code: no acknowledged batch is missing or changed,
 * every journal is dense and as long as its head says, and SQLite finds no damage.
 * (A kill leaves the page cache alone: what a power cut does is tried by torn images.)
 */

import { DatabaseSync } from "node:sqlite";
import { Child, killChildren } from "./sqlite-child.ts";
import { seeded } from "./sqlite-samples.ts";
import { tempFolder } from "./sqlite-temp.ts";

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
}

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (report: KillReport) => void;
}

/** Every so often a new file is begun, so that checking all of it stays quick. */
const killsPerFile = 100;

export async function killWriters({ kills, seed, progress }: KillOptions): Promise<KillReport> {
  const random = seeded(seed);
  let report: KillReport = { kills: 0, acknowledged: 0, batches: 0 };
  while (report.kills < kills) {
    const before = report;
    await killOnOneFile(Math.min(killsPerFile, kills - before.kills), random, (file) => {
      report = {
        kills: before.kills + file.kills,
        acknowledged: before.acknowledged + file.acknowledged,
        batches: before.batches + file.batches,
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
  /** By run and position, who was told that the batch is durable. */
  const acknowledged = new Map<string, string>();
  try {
    for (let killed = 0; killed < kills;) {
      const pair = [0, 1].slice(0, kills - killed).map((lane) => `w${killed + lane}`);
      await Promise.all(
        pair.map(async (writer) => {
          for (const ack of await killOne(temp.path, writer, random)) acknowledged.set(ack, writer);
        }),
      );
      killed += pair.length;
      tell({ kills: killed, acknowledged: acknowledged.size, batches: check(temp.path, acknowledged) });
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
  if (!early) await child.line("up");
  await new Promise((resolve) => setTimeout(resolve, delay));
  await child.kill();
  const { signal } = await child.exit;
  if (signal !== "SIGKILL") throw new Error(`The writer ended by itself: ${child.said}`);
  return child.lines.filter((line) => line !== "up");
}

function check(path: string, acknowledged: ReadonlyMap<string, string>): number {
  const database = new DatabaseSync(path);
  try {
    const damage = database.prepare("PRAGMA integrity_check").all();
    expectEqual(JSON.stringify(damage), '[{"integrity_check":"ok"}]', "integrity_check");
    const exists = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'runs'").get() !== undefined;
    if (!exists && acknowledged.size === 0) return 0;
    return writerRuns.reduce((sum, locator) => sum + checkRun(database, locator, acknowledged), 0);
  } finally {
    database.close();
  }
}

function checkRun(
  database: DatabaseSync,
  locator: string,
  acknowledged: ReadonlyMap<string, string>,
): number {
  const head = database.prepare("SELECT length, steps FROM runs WHERE locator = ?").get(locator);
  const rows = database
    .prepare("SELECT position, body FROM batches WHERE locator = ? ORDER BY position")
    .all(locator);
  expectEqual(Number(head?.["length"] ?? 0), rows.length, `length of ${locator}`);
  if (head !== undefined) expectEqual(Number(head["steps"]) + 1, rows.length, `head of ${locator}`);
  rows.forEach(({ position, body }, index) => {
    const where = `${locator} ${index}`;
    expectEqual(position, index, `position in ${locator}`);
    const writer = String(body).split(" ", 1)[0] as string;
    expectEqual(body, writerText(locator, index, writer), `text of ${where}`);
    expectEqual(writer, acknowledged.get(where) ?? writer, `who wrote ${where}`);
  });
  const beyond = [...acknowledged.keys()].find((ack) => {
    const [run, position] = ack.split(" ");
    return run === locator && Number(position) >= rows.length;
  });
  expectEqual(beyond, undefined, "acknowledged and missing");
  return rows.length;
}

function expectEqual(found: unknown, expected: unknown, what: string): void {
  if (found === expected) return;
  const [one, two] = [found, expected].map((value) => String(value).slice(0, 200));
  throw new Error(`${what}: found ${one}, expected ${two}`);
}
