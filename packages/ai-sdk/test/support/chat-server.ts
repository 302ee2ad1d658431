/** A chat over HTTP: a workflow that streams an answer with a tool in it, and the handler that shows it. */

import { createApp, durable, type Storage } from "@durable/core";
import { serve } from "@durable/http/node";
import { convertToModelMessages, isStepCount, streamText, tool, type UIMessage } from "ai";
import { z } from "zod";
import { chatStream, createChatHandler, type ChatInput, type ChatOptions } from "../../src/chat/index.ts";
import { durableModel, durableTools } from "../../src/index.ts";
import { latest } from "./versions.ts";
import type { Heard, Said } from "./provider.ts";

/** Looks something up, and answers at length, every time in other words. */
export function talker({ results, number }: Heard): Said {
  if (results === 0) return { text: "Let me look.", calls: [{ tool: "look", input: {} }] };
  const words = Array.from({ length: 24 }, (_, i) => `w${number}-${i}`);
  return { text: `${words.join(" ")} end.` };
}

export interface ChatServerParts {
  readonly storage: Storage;
  readonly provider: string;
  readonly ran: () => void;
  readonly options?: Partial<ChatOptions>;
}

function chatApp({ storage, provider, ran }: Pick<ChatServerParts, "storage" | "provider" | "ran">) {
  const look = tool({ inputSchema: z.object({}), execute: () => (ran(), "found") });
  const answer = durable("answer", async (ctx, input: ChatInput) => {
    const result = streamText({
      model: durableModel(ctx, latest.models.chat(provider)),
      messages: await convertToModelMessages(input.messages as UIMessage[]),
      tools: durableTools(ctx, { look }),
      stopWhen: isStepCount(4),
    });
    await chatStream(ctx, result.toUIMessageStream());
    return result.text;
  });
  return createApp({ storage, secret: "a secret for tests, of no worth", workflows: [answer] });
}

export async function chatServer(parts: ChatServerParts) {
  const { storage, options } = parts;
  const app = chatApp(parts);
  const handler = createChatHandler(app, {
    workflow: "answer",
    journal: { storage },
    authorize: () => true,
    keepAlive: 200,
    ...options,
  });
  const server = await serve(handler);
  return { app, handler, api: `${server.url}/api/chat`, close: () => server.close() };
}
