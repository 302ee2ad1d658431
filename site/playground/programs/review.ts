import { durable } from "@durable/core";
import { ask } from "playground";

export const input = "the contract with Northwind";

// Three reviewers work at once. A fork of one branch keeps the work of the others.
export default durable("review", async (ctx, text: string) => {
  const views = await ctx.parallel({
    law: (c) => c.step("read", (info) => ask(`What does the law say about ${text}?`, info)),
    cost: (c) => c.step("read", (info) => ask(`What does ${text} cost?`, info)),
    tone: (c) => c.step("read", (info) => ask(`Is the tone of ${text} right?`, info, { model: "swift-1" })),
  });
  return ctx.step("summary", (info) => ask(`Summarize ${Object.values(views).join("; ")}`, info));
});
