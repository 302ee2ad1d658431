/** Backs up a file again and again, and stops for ever in the middle of one: `<path> <folder> <number of that one>`. */

import { writeSync } from "node:fs";
import { join } from "node:path";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";

const [path = "", folder = "", last = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);
for (let n = 0; ; n++) {
  await storage.backup(join(folder, `${n}.db`), {
    onProgress: ({ done, total }) => {
      if (done === total || n !== Number(last)) return;
      writeSync(1, "half\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  });
}
