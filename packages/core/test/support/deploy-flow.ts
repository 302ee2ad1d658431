/** A workflow as it would stand in a service, in a file of its own so that a bundler can have it. */

import { durable, type Context } from "@durable/core";

export const ran: string[] = [];

function work(name: string): () => string {
  return function namedWork() {
    ran.push(name);
    return `${name} done`;
  };
}

async function gatherEvidence(context: Context): Promise<string[]> {
  const plan = await context.step("plan", work("plan"), { input: { model: "m-1", topic: "tides" } });
  const { credit, value } = await context.parallel({
    credit: (branch) => branch.step("pull", work("pull")),
    value: (branch) => branch.step("appraise", work("appraise")),
  });
  return [plan, credit, value];
}

export const review = durable("review", async (context) => {
  const evidence = await gatherEvidence(context);
  const timer = context.sleep("30 days");
  const { name } = await context.race({
    answer: (branch) => branch.suspend<string>("approve"),
    nobody: () => timer,
  });
  const drawn = context.uuid("ticket");
  return [...evidence, name, drawn, await context.step("file", work("file"))];
});
