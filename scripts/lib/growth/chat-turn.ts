/** One turn of a chat in a process of its own: prints the processor time of its whole life, in milliseconds. */

import { SqliteStorage } from "@durable/core/sqlite";
import { chatTurn } from "./chat.ts";

const storage = new SqliteStorage(process.argv[2] ?? "");
await chatTurn(storage);
await storage.close();
const { user, system } = process.cpuUsage();
process.stdout.write(String((user + system) / 1_000));
