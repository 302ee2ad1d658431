/** A report: planned and written by a model, approved by a person, who is asked before it is written. */

import { durableModel } from "@durable/ai-sdk";
import { durable, type Workflow } from "@durable/core";
import { generateText, type LanguageModel } from "ai";
import { z } from "zod";

const order = z.object({ topic: z.string().min(1).max(2_000) });
const approval = z.object({ approved: z.boolean() });

export interface Delivered {
  readonly published: boolean;
  readonly text: string;
}

/** What the workflow needs from its host; a Worker creates it for each message. */
export interface Parts {
  readonly model: Exclude<LanguageModel, string>;
  readonly put: (name: string, text: string) => Promise<unknown>;
}

export function report(parts: Parts): Workflow<z.infer<typeof order>, Delivered> {
  return durable(
    "report",
    async (ctx, { topic }) => {
      const model = durableModel(ctx, parts.model);
      const say = async (key: string, prompt: string): Promise<string> =>
        (await generateText({ model, prompt, providerOptions: { durable: { key } } })).text;

      const plan = await say("plan", `Plan a report.\n${topic}`);
      const answer = ctx.suspend("approve", { schema: approval, timeout: "7 days", note: { plan } });
      // The question is out before the report is written: an answer may come before anybody waits for it.
      const question = JSON.stringify({ plan, token: answer.token });
      await ctx.step("ask", () => parts.put(`${ctx.runId}/question.json`, question).then(() => null));
      const text = await say("draft", `Write the report.\n${topic}\n${plan}`);
      const { approved } = await answer;
      if (approved)
        await ctx.step("publish", () => parts.put(`${ctx.runId}/report.txt`, text).then(() => null));
      return { published: approved, text };
    },
    { input: order },
  );
}
