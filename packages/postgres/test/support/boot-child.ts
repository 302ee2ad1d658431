/** A process that boots on a schema: says when it begins, writes one run, and ends. */

import { PostgresStorage } from "../../src/index.ts";
import { headOf, request } from "./head.ts";

const [url = "", schema = ""] = process.argv.slice(2);
const storage = new PostgresStorage({ url, schema, connections: 1 });
const appended = storage.append(request(headOf({ locator: `p${String(process.pid).padStart(17, "0")}` }), 0));
console.log("begun");
await appended;
await storage.close();
