/** Drives a run to the middle of its charge: `<journal> <file> <mode> <run>`. The effect is had, and the process killed. */

import { SqliteStorage } from "@durable/core/sqlite";
import { fileShop, type Mode } from "./uncertain-file.ts";

const [path = "", file = "", mode = "", id = ""] = process.argv.slice(2);
const shop = fileShop(file, mode as Mode, () => process.kill(process.pid, "SIGKILL"));
const outcome = await shop.with({ storage: new SqliteStorage(path) }).run(undefined, { id });
console.log(`not killed: ${JSON.stringify(outcome)}`);
