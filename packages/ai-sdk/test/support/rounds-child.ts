/**
 * A process of its own that serves the chat of `rounds-server.ts`, and drives its runs:
 *
 *     node rounds-child.ts <journal> <provider> <effects>
 */

import { appendFileSync } from "node:fs";
import { SqliteStorage } from "@durable/core/sqlite";
import { roundsServer, type Effect } from "./rounds-server.ts";

const [journal = "", provider = "", effects = ""] = process.argv.slice(2);
const effect: Effect = (...what) => appendFileSync(effects, `${what.join(" ")}\n`);
const { api } = await roundsServer({ storage: new SqliteStorage(journal), provider, effect });
console.log(api);
