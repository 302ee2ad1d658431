/**
 * Puts the text in CANARY everywhere and says all it can: `<path> <how>`. With `killed` it dies of SIGKILL while a
 * step is under way, with `crashed` of an error that nobody catches; with `told` it comes to its end.
 */

import { inspect } from "node:util";
import { createApp, createWorker, Journal, secret, type Outcome } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { leakyFlows, leakyInput, loud } from "../../support/canary-flow.ts";

const [path = "", how = "told"] = process.argv.slice(2);
const canary = process.env["CANARY"] ?? "";
secret(canary, "API_KEY");

const say = (what: string, value: unknown): void => {
  console.log(what, inspect(value, { depth: 12, showHidden: true, maxStringLength: null }));
  console.error(what, value, JSON.stringify(value), String(value));
};
const storage = new SqliteStorage(path);
const stop = (where: string): void => {
  if (how === "killed" && where === "charge") process.kill(process.pid, "SIGKILL");
};
const { flow, child } = leakyFlows(canary, { stop });
const app = createApp({ workflows: [flow, child], storage, secret: "a secret for tokens", patience: "1m" });
const tell = async (what: string, work: Promise<unknown>): Promise<unknown> => {
  const told = await work.catch((error: unknown) => error);
  say(what, told);
  return told;
};

await tell("run", flow.with({ storage, secret: "a secret for tokens" }).run(leakyInput(canary), { id: "r" }));
for (let open = true; open;) {
  const outcome = (await tell("outcome", app.advance("r"))) as Outcome<unknown>;
  const points = outcome.status === "suspended" ? outcome.waiting : [];
  const [ask] = points.filter(({ name }) => name === "ask");
  open = outcome.status !== "failed";
  if (ask === undefined) continue;
  await tell("wrong", app.resume(ask.token, { ok: canary }));
  await tell("wrong again", app.resume(ask.token, { ok: canary, more: loud(canary) }, { drive: false }));
  await tell("advance", app.advance("r"));
  await tell("right", app.resume(ask.token, { ok: true, hint: `hint ${canary}` }));
}
await tell("entries", app.get("r").entries());
await tell(
  "fork",
  flow.with({ storage }).fork("r", { edit: { use: canary }, label: `with ${canary}`, id: "f" }),
);
await tell("cancel", app.cancel("f", { reason: `because of ${canary}` }));
await tell("other input", flow.with({ storage }).run(leakyInput(`not ${canary}`), { id: "r" }));
const journal = await Journal.open("direct", { storage });
await journal.record("call", () => Promise.reject(loud(canary))).catch(() => {});
await tell(
  "record",
  journal.record("call", () => canary),
);
await tell("unknown", app.advance(canary));
const worker = createWorker(app, { interval: 5, onStop: () => Promise.reject(loud(canary)) as never });
await new Promise((resolve) => setTimeout(resolve, 50));
await worker.stop();
console.log("over");
// An error of the library that nobody catches: Node prints all of it.
if (how === "crashed") await app.get("r").result();
await storage.close();
