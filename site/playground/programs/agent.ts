import { durable } from "@durable/core";
import { ask, call } from "playground";

export const input = "What do I pack for Lisbon?";

// An agent: the model chooses a tool, the tool runs, and the model answers.
export default durable("agent", async (ctx, question: string) => {
  const choice = await ctx.step("choose", (info) => ask(`Which tool helps with: ${question}`, info));
  const [tool = "", about = ""] = choice.split(": ");
  const found = await ctx.step(tool, (info) => call(`forecast ${about}`, info));
  const seen = await ctx.step("search", (info) => call(`news ${about}`, info));
  return ctx.step("answer", (info) => ask(`Answer ${question} with ${found} and ${seen}`, info));
});
