import { durableModel } from "@durable/ai-sdk";
import { chatStream, type ChatInput } from "@durable/ai-sdk/chat";
import { durable } from "@durable/core";
import { convertToModelMessages, streamText, type UIMessage } from "ai";
import { model } from "./model";

/** One question, one run. What the user sees is recorded, and goes on after a crash. */
export const answer = durable("answer", async (ctx, { messages }: ChatInput) => {
  const result = streamText({
    model: durableModel(ctx, model),
    messages: await convertToModelMessages(messages as UIMessage[]),
  });
  await chatStream(ctx, result.toUIMessageStream());
});
