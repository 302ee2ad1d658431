/** Migrates a file and stops for good before statement `<n>`: `<path> <n>`. Somebody will kill it there. */

import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { migrate, steps } from "../../../../src/adapters/sqlite/schema.ts";

const [path = "", stop = "0"] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec("PRAGMA journal_mode = wal; PRAGMA synchronous = FULL");
database.function("stop_here", () => {
  // Written at once: the process does not come back from here.
  writeSync(1, "stopped\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  return null;
});
const statements = steps.join("\n").split(/(?<=;)\n\s*/);
statements.splice(Number(stop), 0, "SELECT stop_here();");
migrate(database, path, [statements.join("\n")]);
