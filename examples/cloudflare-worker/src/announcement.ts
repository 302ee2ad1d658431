/** An announcement: a model outlines and writes it, a person decides, and it is published once, after its embargo. */

import { durableModel } from "@durable/ai-sdk";
import { durable, type Workflow } from "@durable/core";
import { generateText, type LanguageModel } from "ai";
import { z } from "zod";

const request = z.object({
  topic: z.string().min(1).max(2_000),
  /** In seconds. */
  embargo: z.number().min(0).max(86_400).default(0),
});
const review = z.object({ approved: z.boolean(), remark: z.string().max(2_000).optional() });

export interface Published {
  readonly published: boolean;
  readonly text: string;
}

/** What the workflow needs from its host. */
export interface Parts {
  readonly model: Exclude<LanguageModel, string>;
  readonly publish: (name: string, text: string) => Promise<unknown>;
}

export function announcement(parts: Parts): Workflow<z.infer<typeof request>, Published> {
  return durable(
    "announcement",
    async (ctx, { topic, embargo }) => {
      const model = durableModel(ctx, parts.model);
      const say = async (key: string, prompt: string): Promise<string> =>
        (await generateText({ model, prompt, providerOptions: { durable: { key } } })).text;

      const outline = await say("outline", `Outline an announcement.\n${topic}`);
      const draft = await say("draft", `Write the announcement.\n${topic}\n${outline}`);
      const { approved, remark } = await ctx.suspend("review", { schema: review, note: { draft } });
      if (!approved) return { published: false, text: draft };
      const text = remark ? await say("revise", `Revise the announcement.\n${draft}\n${remark}`) : draft;
      await ctx.sleep(embargo * 1_000);
      // The same name however often it is tried: an object that is written twice is there once.
      await ctx.step("publish", () => parts.publish(`${ctx.runId}.txt`, text).then(() => null));
      return { published: true, text };
    },
    { input: request },
  );
}
