/** One of several processes that write to the same file: `<path> <name>`. Begins when told to; prints what it won. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { DurableError } from "../../../../src/values/errors.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { request } from "./samples.ts";

export interface RaceReport {
  readonly name: string;
  /** `run position` of every append to a shared run that was acknowledged. */
  readonly won: string[];
  readonly conflicts: number;
  readonly leases: string[];
}

const [path = "", name = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);
const won: string[] = [];
let conflicts = 0;

async function writeOwn(run: string): Promise<void> {
  for (let position = 0; position < 60; position++)
    await storage.append(request(run, position, `${name} ${position}`));
}

/** Adds batches until so many are its own. */
async function writeShared(run: string): Promise<void> {
  for (let mine = 0; mine < 25;) {
    const { length } = await storage.read(run);
    try {
      await storage.append(request(run, length, `${name} ${length}`));
      won.push(`${run} ${length}`);
      mine += 1;
    } catch (error) {
      if (!DurableError.is(error, "conflict")) throw error;
      conflicts += 1;
    }
  }
}

async function takeLeases(): Promise<string[]> {
  const runs = Array.from({ length: 50 }, (_, n) => `leased${n}`);
  const leases = await Promise.all(runs.map((run) => storage.lease(run, name, 60_000)));
  return runs.filter((_, n) => leases[n] !== null);
}

const lines = createInterface({ input: process.stdin });
console.log("ready");
await once(lines, "line");
const leases = await takeLeases();
await Promise.all([
  writeOwn(`${name}-one`),
  writeOwn(`${name}-two`),
  ...["shared-one", "shared-two", "shared-three"].map(writeShared),
]);
console.log("report", JSON.stringify({ name, won, conflicts, leases } satisfies RaceReport));
await storage.close();
lines.close();
process.stdin.destroy();
