/** Opens journal files as a user who may not write to them. Root may do everything, so it becomes nobody first. */

import { dirname, join } from "node:path";
import { DurableError } from "../../../../src/index.ts";
import { defaultStorage } from "../../../../src/adapters/sqlite/default.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "none";
  } catch (error) {
    return DurableError.is(error) ? error.code : String(error);
  }
}

const path = process.argv[2] ?? "";
if (process.getuid?.() === 0) {
  process.setgid?.(65_534);
  process.setuid?.(65_534);
}
process.env["DURABLE_DIR"] = join(dirname(path), "made", "here");
console.log("open existing:", await codeOf(() => new SqliteStorage(path)));
console.log("open new:", await codeOf(() => new SqliteStorage(join(dirname(path), "new", "journal.db"))));
console.log("default:", await codeOf(defaultStorage));
