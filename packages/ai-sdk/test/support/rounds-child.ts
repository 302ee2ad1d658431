/**
 * A process of its own that serves the chat of `rounds-server.ts`, and drives its runs:
 *
 *     node rounds-child.ts <journal> <provider> <effects> [gate]
 *
 * With a gate, its tools end when that file is there.
 */

import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { SqliteStorage } from "@durable/core/sqlite";
import { roundsServer, type Effect } from "./rounds-server.ts";

const [journal = "", provider = "", effects = "", gate] = process.argv.slice(2);
const effect: Effect = async (...what) => {
  appendFileSync(effects, `${what.join(" ")}\n`);
  if (gate !== undefined) while (!existsSync(gate)) await delay(10);
};
const { api } = await roundsServer({ storage: new SqliteStorage(journal), provider, effect });
console.log(api);
