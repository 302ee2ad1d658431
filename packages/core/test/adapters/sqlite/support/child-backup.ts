/** Backs up a file again and again until it is killed: `<path> <folder>`. */

import { join } from "node:path";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";

const [path = "", folder = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);
for (let n = 0; ; n++) {
  const backup = storage.backup(join(folder, `${n}.db`), {
    onProgress: ({ done, total }) => {
      if (done < total) process.stdout.write(`half ${n}\n`);
    },
  });
  await backup;
  process.stdout.write(`whole ${n}\n`);
}
