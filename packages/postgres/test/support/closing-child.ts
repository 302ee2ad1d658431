/** A program that ends with `await storage.close()`: its arguments are the address and the schema. */

import { durable } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";

const storage = new PostgresStorage({ url: process.argv[2] ?? "", schema: process.argv[3] });
const flow = durable("closing", (ctx) => ctx.step("one", () => 1), { storage, secret: "a secret for tests" });
await Promise.all(Array.from({ length: 30 }, () => flow.run()));
const stop = new AbortController();
const waits = storage.whenDue(["closing"], stop.signal);
while (!storage.listening) await new Promise((resolve) => setTimeout(resolve, 20));
stop.abort();
await waits;
await storage.close();
console.log("closed");
