/** First boot: `<path> <name>`. Opens the file when told to, at the same time as others, and appends a run. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { request } from "./samples.ts";

const [path = "", name = ""] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
console.log("ready");
await once(lines, "line");
const storage = new SqliteStorage(path);
await storage.append(request(name, 0));
console.log("booted");
await storage.close();
lines.close();
process.stdin.destroy();
