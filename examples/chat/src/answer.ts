/**
 * The workflow: one run answers one message. Everything the page shows is recorded by `chatStream`, so the run
 * may move to another process in the middle of a word. Proven in test/kills.test.ts.
 */

import { durableModel, durableSteering, durableTools } from "@durable/ai-sdk";
import { chatStream, type ChatInput } from "@durable/ai-sdk/chat";
import { durable, type Context } from "@durable/core";
import {
  convertToModelMessages,
  isStepCount,
  streamText,
  tool,
  type LanguageModel,
  type UIMessage,
} from "ai";
import { z } from "zod";
import type { Mail, Outbox } from "./outbox.ts";

export const otherWords = "Answer in other words than before.";

const instructions =
  "You answer questions about the sea in a few short paragraphs of Markdown. Look tides up with the tool lookUpTides. You can send e-mails with the tool sendEmail: write the whole e-mail and call the tool. The user is asked before it is sent.";

/** The topic of what users say while an answer is written. */
export const steerTopic = "steer";

export interface AnswerParts {
  readonly model: Exclude<LanguageModel, string>;
  readonly outbox: Outbox;
}

export function createAnswer({ model, outbox }: AnswerParts) {
  return durable("answer", async (ctx, { messages, trigger }: ChatInput) => {
    const result = streamText({
      model: durableModel(ctx, model),
      instructions: trigger === "regenerate-message" ? `${instructions} ${otherWords}` : instructions,
      // An e-mail that was neither allowed nor denied before the user went on is not shown to the model.
      messages: await convertToModelMessages(messages as UIMessage[], { ignoreIncompleteToolCalls: true }),
      tools: { ...durableTools(ctx, { lookUpTides }), sendEmail: sendEmail(ctx, outbox) },
      stopWhen: isStepCount(8),
      ...(await durableSteering(ctx, steerTopic)),
    });
    await chatStream(ctx, result.toUIMessageStream({ sendReasoning: true, sendSources: true }));
  });
}

export interface Tides {
  readonly harbour: string;
  readonly tides: readonly { readonly at: string; readonly height: number }[];
}

/** In place of a service with tides: a call that is recorded, so that it is made once. */
const lookUpTides = tool({
  description: "The times and heights of high water in a harbour tomorrow.",
  inputSchema: z.object({ harbour: z.string() }),
  execute: ({ harbour }): Tides => ({
    harbour,
    tides: [
      { at: "06:40", height: 3.1 },
      { at: "19:05", height: 2.9 },
    ],
  }),
});

/** What the page sees of a call: the open question with the token that answers it, then the decision. */
export type MailState =
  | { readonly status: "asks"; readonly token: string }
  | { readonly status: "sent" }
  | { readonly status: "denied" };

/** A tool that is workflow code: it waits for the user, for as long as it takes and in any process. */
function sendEmail(ctx: Context, outbox: Outbox) {
  return tool({
    description: "Sends an e-mail, if the user allows it.",
    inputSchema: z.object({ to: z.email(), subject: z.string(), body: z.string() }),
    async *execute(mail: Mail, { toolCallId }): AsyncGenerator<MailState> {
      const allowed = ctx.suspend(`allow ${toolCallId}`, { note: mail, schema: z.boolean() });
      yield { status: "asks", token: allowed.token };
      if (!(await allowed)) return yield { status: "denied" };
      await ctx.step(`send ${toolCallId}`, ({ idempotencyKey }) => outbox.send(idempotencyKey, mail));
      yield { status: "sent" };
    },
  });
}
