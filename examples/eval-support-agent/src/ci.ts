/** The same eval for CI: `durable eval src/ci.ts`. It needs the recorded conversations in the folder of DURABLE_DIR. */

import { createApp } from "@durable/core";
import type { Report } from "@durable/evals";
import { createAgent, shop } from "./agent.ts";
import { prices, record } from "./demo.ts";
import { evaluatePolicy } from "./eval.ts";
import { agentModel, judgeModel } from "./models.ts";

// oxlint-disable-next-line import/no-default-export -- what `durable eval` calls
export default async function evalPolicy(): Promise<Report> {
  const agent = createAgent(
    agentModel(),
    shop(() => {}),
  );
  const app = createApp({ workflows: [agent], prices });
  await record(app, agent);
  return evaluatePolicy(app, judgeModel());
}
