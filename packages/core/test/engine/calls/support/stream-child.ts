/**
 * Makes a long stream, until it is done or killed: `<path> <run id> <name of this life> <chunks>`.
 * Says `saw <attempt> <index>` of every chunk that it knows to be durable, and its outcome at the end.
 */

import { writeSync } from "node:fs";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { longFlow } from "./stream-long.ts";

const [path = "", id = "", life = "", count = "0"] = process.argv.slice(2);
const say = (text: string): void => void writeSync(1, `${text}\n`);

const storage = new SqliteStorage(path);
const flow = longFlow(storage, { life, count: Number(count) });
const run = await flow.start(undefined, { id });
say("up");
for await (const event of run.stream("words"))
  if (event.type === "chunk") say(`saw ${event.attempt} ${event.index}`);
say(`output ${JSON.stringify(await run.result())}`);
await storage.close();
