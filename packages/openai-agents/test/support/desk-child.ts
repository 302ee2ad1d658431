/**
 * A process that drives the desk until it ends or waits for a person, and answers the wait if it is told to:
 *
 *     node desk-child.ts <journal> <provider> <receiver> <stream or whole> <answer or wait>
 */

import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { deskOf } from "./desk.ts";

const [journal = "", provider = "", receiver = "", mode = "", task = ""] = process.argv.slice(2);

const body = deskOf(provider, async (name, key) => {
  const response = await fetch(`${receiver}/${name}`, {
    method: "POST",
    headers: { "idempotency-key": key, "x-call": name },
  });
  return response.text();
});
const flow = durable("desk", (ctx) => body(ctx, mode === "stream"), { storage: new SqliteStorage(journal) });

let outcome = await flow.run(undefined, { id: "desk" });
if (outcome.status === "suspended" && task === "answer") {
  await flow.resume(outcome.waiting[0]?.token ?? "", true);
  outcome = await flow.run(undefined, { id: "desk" });
}
console.log(JSON.stringify(outcome));
process.exit(outcome.status === "completed" ? 0 : outcome.status === "suspended" ? 3 : 1);
