/**
 * Many forks of one long run, in SQLite:
 *
 *     npm run soak:forks -- --forks 1000 --steps 10000
 *
 * Says what each fork wrote at most, and by how much the file grew for all of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { SqliteStorage } from "@durable/core/sqlite";
import { forkMany } from "../packages/core/test/runs/support/fork-many.ts";

const { values } = parseArgs({
  options: { forks: { type: "string", default: "1000" }, steps: { type: "string", default: "10000" } },
});
const [forks = 0, steps = 0] = [values.forks, values.steps].map(Number);
if (![forks, steps].every((number) => Number.isInteger(number) && number >= 10)) {
  console.error("soak:forks: --forks and --steps are whole numbers from 10 on");
  process.exit(2);
}

/** With what still stands in the log: the file itself takes it in later. */
function sizeOf(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  const read = (pragma: string): number =>
    Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  const size = read("page_count") * read("page_size");
  database.close();
  return size;
}

const folder = mkdtempSync(join(tmpdir(), "durable-forks-"));
const path = join(folder, "journal.db");
const count = (number: number): string => number.toLocaleString("en");
try {
  const storage = new SqliteStorage(path);
  let before = 0;
  const found = await forkMany(storage, { steps, forks }, (made) => {
    if (made === 1) before = sizeOf(path);
    if (made % Math.ceil(forks / 20) === 0) console.log(`soak:forks: ${count(made)}/${count(forks)} forks`);
  });
  await storage.close();
  const after = sizeOf(path);
  console.log(
    `soak:forks: ${count(forks)} forks of a run of ${count(steps)} steps: first batches of at most ${count(found.largest)} bytes, ` +
      `${count(found.entries)} entries of their own (${count(found.expected)} expected), ${count(found.repeated)} steps repeated; ` +
      `${count(found.bytes)} bytes written in batches, the file grew from ${count(before)} to ${count(after)} bytes`,
  );
  if (found.largest > 1_000 || found.entries !== found.expected || found.repeated > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
