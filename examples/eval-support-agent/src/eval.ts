/** The eval: the prompt that states the policy, against what was recorded. */

import type { App } from "@durable/core";
import { evaluate, judge, type JudgeModel, type Report } from "@durable/evals";
import { euros, orders, owed } from "./orders.ts";
import { prompt } from "./agent.ts";

export const policy = `${prompt} Express is late after three working days; then the fee is paid back.`;

/** The sum that an answer pays back, as it says it. */
export function promised(answer: string): string {
  return /(\d+\.\d\d EUR) are on their way back/.exec(answer)?.[1] ?? euros(0);
}

export function evaluatePolicy(app: App, judgeModel: JudgeModel): Promise<Report> {
  return evaluate(app, {
    name: "state the policy",
    runs: orders.map((order) => ({
      runId: order.id,
      expected: euros(owed(order)),
      label: `${order.goods}, sent on ${order.sent}, came on ${order.came}`,
    })),
    from: { turn: -1 },
    variants: [{ name: "policy stated", prompt: policy }],
    score: {
      refund: ({ after, expected }) => promised(after.text) === expected,
      kind: judge({ model: judgeModel, criteria: "The answer is kind." }),
    },
    thresholds: { refund: { min: 0.9, worse: 0 }, kind: { drop: 0.02 } },
  });
}
