/** Purges a file, and says after each batch how many runs are gone: `<path>`. */

import { writeSync } from "node:fs";
import { createApp } from "../../../../src/index.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";

const [path = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);
const app = createApp({ storage, workflows: [] });
const onProgress = ({ runs }: { readonly runs: number }): void => void writeSync(1, `gone ${runs}\n`);
writeSync(1, "up\n");
await app.purge({ olderThan: 0, status: ["completed", "failed", "cancelled"], onProgress });
writeSync(1, "done\n");
await storage.close();
