import { durable } from "@durable/core";
import { ask } from "playground";

export const input = "the tide";

// Two models at once: the first answer counts, and the other call is aborted.
export default durable("race", async (ctx, topic: string) => {
  const first = await ctx.race({
    atlas: (c) => c.step("ask", (info) => ask(`A title about ${topic}`, info, { slowness: 2 })),
    swift: (c) => c.step("ask", (info) => ask(`A title about ${topic}, quickly`, info, { model: "swift-1" })),
  });
  const text = await ctx.step("write", (info) => ask(`A chapter about ${first.value}`, info));
  return `${first.name} won: ${first.value}. ${text}`;
});
