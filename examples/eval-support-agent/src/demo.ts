/** Records the conversations, runs the eval, and shows what was not paid again. */

import { createApp, type App } from "@durable/core";
import { removeEval, type Report } from "@durable/evals";
import type { Terminal } from "example-llm";
import { createAgent, questionAbout, shop } from "./agent.ts";
import { evaluatePolicy } from "./eval.ts";
import { agentModel, judgeModel } from "./models.ts";
import { orders } from "./orders.ts";

export const prices = { scripted: { input: 2, output: 8 }, judge: { input: 1, output: 4 } };

/** What was asked and done. */
export class Counts {
  calls = 0;
  effects = 0;

  taken(): string {
    const { calls, effects } = this;
    [this.calls, this.effects] = [0, 0];
    return `${calls} model calls, ${effects} effects (orders read, mails sent)`;
  }
}

export async function record(app: App, agent: ReturnType<typeof createAgent>): Promise<void> {
  for (const order of orders)
    await app.run(agent, questionAbout(order), { id: order.id, tags: { goods: order.goods } });
}

export async function demo(out: Terminal, { fresh }: { readonly fresh: boolean }): Promise<Report> {
  const counts = new Counts();
  const onCall = (): void => void (counts.calls += 1);
  const agent = createAgent(
    agentModel(onCall),
    shop(() => (counts.effects += 1)),
  );
  const app = createApp({ workflows: [agent], prices });
  if (fresh) {
    await removeEval(app, "state the policy");
    for (const { id } of orders) await app.delete(id).catch(() => {});
  }
  await record(app, agent);
  out.line(`Recording ${orders.length} conversations took ${counts.taken()}.`);
  out.line();
  const report = await evaluatePolicy(app, judgeModel(onCall));
  out.line(report.text());
  out.line();
  out.line(`The eval took ${counts.taken()}.`);
  await evaluatePolicy(app, judgeModel(onCall));
  out.line(`The same eval once more took ${counts.taken()}.`);
  const { runs } = await app.list({ limit: 200 });
  const { runs: made } = await app.list({ eval: true, limit: 500 });
  out.line(`Runs in lists: ${runs.length}; runs of evals, listed apart: ${made.length}.`);
  return report;
}
