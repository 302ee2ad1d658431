/** One turn of a chat in a process of its own: prints the processor time that it took, without loading the library. */

import { SqliteStorage } from "@durable/core/sqlite";
import { chatTurn } from "./chat.ts";

const before = process.cpuUsage();
const storage = new SqliteStorage(process.argv[2] ?? "");
await chatTurn(storage);
await storage.close();
const { user, system } = process.cpuUsage(before);
process.stdout.write(String((user + system) / 1_000));
