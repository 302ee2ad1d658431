/** A process that drives a run under a long lease, says so, and waits to be killed. */

import { PostgresStorage } from "../../src/index.ts";
import { headOf, request } from "./head.ts";

const [url = "", schema = ""] = process.argv.slice(2);
const storage = new PostgresStorage({ url, schema, listen: false });
await storage.append(request(headOf(), 0, { lease: { owner: "child", ttlMs: 3_600_000 } }));
console.log("driving");
setInterval(() => {}, 1_000);
