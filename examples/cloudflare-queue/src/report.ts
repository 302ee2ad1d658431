/** A report: planned and written by a model, approved by a person, who is asked before it is written. */

import { durableModel } from "@durable/ai-sdk";
import { durable, type Context, type Workflow } from "@durable/core";
import { generateText, type LanguageModel } from "ai";
import { z } from "zod";

const order = z.object({
  topic: z.string().min(1).max(2_000),
  /** The step that kills its invocation once; used in development only. */
  crash: z.enum(["plan", "draft"]).optional(),
});
const approval = z.object({ approved: z.boolean() });

export interface Delivered {
  readonly published: boolean;
  readonly text: string;
}

/** What the workflow needs from its host; a Worker creates it for each message. */
export interface Parts {
  readonly model: LanguageModel;
  /** Watches which steps run here, and which come from the journal. */
  readonly hear: (ctx: Context) => Context;
  readonly put: (name: string, text: string) => Promise<unknown>;
  /** Crashes once at this place. */
  readonly crashOnce: (place: string) => Promise<void>;
}

export type Report = Workflow<z.infer<typeof order>, Delivered>;

export function report(parts: Parts): Report {
  return durable(
    "report",
    async (context, { topic, crash }) => {
      const ctx = parts.hear(context);
      const say = async (key: string, prompt: string): Promise<string> => {
        const model = durableModel(ctx, troubled(key)) as LanguageModel;
        return (await generateText({ model, prompt, providerOptions: { durable: { key } } })).text;
      };
      /** The model, which crashes in the middle of this call if that was requested. */
      const troubled = (key: string): object => {
        const model = parts.model as Exclude<LanguageModel, string>;
        if (crash !== key) return model;
        const doGenerate = async (...args: readonly never[]): Promise<unknown> => {
          await parts.crashOnce(`${ctx.runId}/${key}`);
          return (model.doGenerate as (...args: readonly never[]) => unknown)(...args);
        };
        return Object.assign(Object.create(model) as object, { doGenerate });
      };

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
