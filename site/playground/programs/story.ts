import { durable } from "@durable/core";
import { ask } from "playground";

export const input = "a lighthouse";

// Crash it while it writes. Then continue: the outline is not paid twice.
export default durable("story", async (ctx, topic: string) => {
  const outline = await ctx.step("outline", (info) => ask(`An outline about ${topic}`, info));
  const chapters: string[] = [];
  for (const part of outline.split(", ").slice(0, 2)) {
    chapters.push(await ctx.step("chapter", (info) => ask(`A chapter about ${part}`, info)));
  }
  const title = await ctx.step("title", (info) => ask(`A title for: ${chapters.join(" ")}`, info));
  return { title, text: chapters.join(" ") };
});
