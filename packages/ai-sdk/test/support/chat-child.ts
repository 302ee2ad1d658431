/**
 * A process of its own that serves the chat, and drives its runs:
 *
 *     node chat-child.ts <journal> <provider> <effects>
 */

import { appendFileSync } from "node:fs";
import { SqliteStorage } from "@durable/core/sqlite";
import { chatServer } from "./chat-server.ts";

const [journal = "", provider = "", effects = ""] = process.argv.slice(2);
const ran = (): void => appendFileSync(effects, "looked\n");
const { api } = await chatServer({ storage: new SqliteStorage(journal), provider, ran });
console.log(api);
