/**
 * One process that sends messages, or reads them:
 *
 *     worker <storage>
 *     sender <storage> <name> <runs> <messages> <from>
 *
 * A sender says `sent <n>` for each message that was acknowledged, in their order.
 */
import { writeSync } from "node:fs";
import { createWorker } from "@durable/core";
import { mailApp, noteOf } from "./mail-flow.ts";
import { openStorage } from "./storage.ts";

const [role = "", url = "", name = "", runs = "1", messages = "0", from = "0"] = process.argv.slice(2);
const storage = await openStorage(url);
const app = mailApp(storage);
if (role === "worker") {
  const worker = createWorker(app, { concurrency: 16, drain: "10s" });
  process.once("SIGTERM", () => void worker.stop().then(() => storage.close()));
  writeSync(1, "up\n");
} else {
  const sendOne = async (n: number): Promise<void> => {
    const { run, note, id } = noteOf(name, n, Number(runs));
    const { status } = await app.send(run, "note", note, { id });
    if (status !== "accepted") throw new Error(`message ${id} to ${run} is ${status}`);
  };
  // Some at a time, because their commits are shared. Those of one run stay in order.
  const lanes = 8;
  for (let n = Number(from); n < Number(messages); n += lanes) {
    const some = Array.from({ length: Math.min(lanes, Number(messages) - n) }, (_, i) => n + i);
    await Promise.all(some.map(sendOne));
    writeSync(1, `sent ${n + some.length}\n`);
  }
  await storage.close();
}
