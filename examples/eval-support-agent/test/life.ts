/** One life of the eval, which dies by SIGKILL in a given call of a model; without one, it prints the report. */

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { createAgent, shop } from "../src/agent.ts";
import { record } from "../src/demo.ts";
import { evaluatePolicy } from "../src/eval.ts";
import { agentModel, judgeModel } from "../src/models.ts";

const [folder = "", what = "", dies = "0"] = process.argv.slice(2);
let calls = 0;
const onCall = async (): Promise<void> => {
  appendFileSync(join(folder, `calls-${what}`), "x");
  calls += 1;
  if (calls === Number(dies)) process.kill(process.pid, "SIGKILL");
  await setTimeout(2);
};
const agent = createAgent(
  agentModel(onCall),
  shop((effect) => appendFileSync(join(folder, `effects-${what}`), `${effect}\n`)),
);
const storage = new SqliteStorage(join(folder, "journal.db"));
const app = createApp({
  workflows: [agent],
  storage,
  prices: { scripted: { input: 2, output: 8 }, judge: { input: 1, output: 4 } },
});
if (what === "record") await record(app, agent);
else process.stdout.write(JSON.stringify(await evaluatePolicy(app, judgeModel(onCall))));
await storage.close();
