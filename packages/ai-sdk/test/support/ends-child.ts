/** A process whose tool throws a FatalError. Prints the outcome of the run, and how often the model was asked. */

import { durable, FatalError, MemoryStorage } from "@durable/core";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";
import { durableModel, durableTools } from "../../src/index.ts";
import { scriptedModel } from "../differential/scripted.ts";

let calls = 0;
const model = scriptedModel(
  7,
  [{ calls: [{ id: "c1", tool: "pay" }] }, { text: "told" }],
  () => (calls += 1),
);
const pay = tool({
  inputSchema: z.object({}),
  execute: (): string => {
    throw new FatalError("the account is closed");
  },
});
const flow = durable(
  "flow",
  async (ctx) => {
    const tools = durableTools(ctx, { pay });
    return (
      await generateText({ model: durableModel(ctx, model), prompt: "?", tools, stopWhen: isStepCount(3) })
    ).text;
  },
  { storage: new MemoryStorage() },
);
const outcome = await flow.run(undefined, { id: "r" });
const { status } = outcome;
console.log(JSON.stringify({ status, calls, message: "error" in outcome ? String(outcome.error) : "" }));
process.exit(0);
