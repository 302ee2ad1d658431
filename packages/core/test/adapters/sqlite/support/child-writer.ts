/**
 * Appends as fast as it can to several runs of one file, until it is killed: `<path> <writer>`.
 * Each line is written at once, after its batch was acknowledged and before anything else is done.
 */

import { writeSync } from "node:fs";
import { DurableError } from "../../../../src/values/errors.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { writerRuns, writerText } from "./kills.ts";
import { headOf } from "./samples.ts";

const [path = "", writer = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);

/** Only how long it is: reading all of it would take most of a short life. */
async function lengthOf(locator: string): Promise<number> {
  return (await storage.read(locator, Number.MAX_SAFE_INTEGER)).length;
}

async function write(locator: string): Promise<never> {
  for (let position = await lengthOf(locator); ;) {
    try {
      const batch = writerText(locator, position, writer);
      const lease = { owner: writer, ttlMs: 1_000 };
      await storage.append({ locator, position, batch, head: headOf(locator, { steps: position }), lease });
      writeSync(1, `${locator} ${position}\n`);
      position += 1;
    } catch (error) {
      if (!DurableError.is(error, "conflict")) throw error;
      position = await lengthOf(locator);
    }
  }
}

writeSync(1, "up\n");
await Promise.all(writerRuns.map(write));
