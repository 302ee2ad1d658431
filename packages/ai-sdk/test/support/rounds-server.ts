/**
 * A chat with everything that a page does: tools of the server, of the page, and with approval, in two rounds each. The
 * question says what happens, and the field `style` of the request how the program makes its UI stream.
 */

import { createApp, durable, FatalError, type Storage } from "@durable/core";
import { serve } from "@durable/http/node";
import {
  convertToModelMessages,
  createUIMessageStream,
  generateId,
  isStepCount,
  streamText,
  tool,
  type UIMessage,
} from "ai";
import { z } from "zod";
import { chatStream, createChatHandler, type ChatInput, type ChatOptions } from "../../src/chat/index.ts";
import { durableCall, durableModel, durableTools } from "../../src/index.ts";
import type { Heard, Said } from "./provider.ts";
import { latest } from "./versions.ts";

/** Every answer has other words, so that a turn that was asked for twice shows. */
export function scripted({ question, results, number }: Heard): Said {
  const [, name = ""] = /\b(look|locate|pay)\b/.exec(question) ?? [];
  const rounds = { look: 1, locate: 2, pay: 2 }[name] ?? 0;
  if (results < rounds) {
    const call = { tool: name, input: { round: results + 1 }, id: `call_${name}_${results + 1}_${number}` };
    return { text: `Round ${results + 1}.`, calls: [call] };
  }
  const words = Array.from({ length: 12 }, (_, i) => `w${number}-${i}`);
  return { text: `${question}: ${words.join(" ")} end.` };
}

/** How the program makes its UI stream. */
export type Style = "plain" | "ids" | "created";

/** What a tool of the server did, for which call, in which run. */
export type Effect = (tool: string, toolCallId: string, idempotencyKey: string) => unknown;

export interface RoundsParts {
  readonly storage: Storage;
  readonly provider: string;
  readonly effect: Effect;
  readonly options?: Partial<ChatOptions>;
  /** A program that is asked to fail late does so once this resolves. */
  readonly late?: Promise<unknown>;
}

export function roundsApp({ storage, provider, effect, late }: RoundsParts) {
  const inputSchema = z.object({ round: z.number() });
  const act = (name: string) => async (_: unknown, options: { readonly toolCallId: string }) => {
    await effect(name, options.toolCallId, durableCall(options).idempotencyKey ?? "");
    return `${name} done`;
  };
  const tools = {
    look: tool({ inputSchema, execute: act("look") }),
    // The page has it.
    locate: tool({ inputSchema, outputSchema: z.string() }),
    pay: tool({ inputSchema, execute: act("pay"), needsApproval: true }),
  };
  const answer = durable("answer", async (ctx, input: ChatInput) => {
    const messages = input.messages as UIMessage[];
    if (input.body["fails"] === true) throw new FatalError("the program fails");
    const result = streamText({
      model: durableModel(ctx, latest.models.chat(provider)),
      messages: await convertToModelMessages(messages),
      tools: durableTools(ctx, tools),
      stopWhen: isStepCount(4),
    });
    const sent = chatStream(ctx, uiStream(result, messages, (input.body["style"] ?? "plain") as Style));
    if (input.body["fails"] === "late") {
      await late;
      throw new FatalError("the program fails while a tool is under way");
    }
    await sent;
  });
  const secret = "a secret for tests, of no worth";
  return createApp({ storage, secret, workflows: [answer], ...(late && { linger: 20 }) });
}

type Streamed = Pick<ReturnType<typeof streamText>, "toUIMessageStream">;

function uiStream(result: Streamed, originalMessages: UIMessage[], style: Style): ReadableStream<object> {
  // Ids of chance, as most programs have them.
  if (style === "ids") return result.toUIMessageStream({ originalMessages, generateMessageId: generateId });
  if (style === "plain") return result.toUIMessageStream();
  return createUIMessageStream({
    execute: ({ writer }) => {
      writer.write({ type: "start", messageId: generateId() });
      writer.write({ type: "data-note", id: "note", data: "first of all" });
      writer.merge(result.toUIMessageStream({ originalMessages, generateMessageId: generateId }));
    },
  });
}

export async function roundsServer(parts: RoundsParts) {
  const app = roundsApp(parts);
  const handler = createChatHandler(app, {
    workflow: "answer",
    journal: { storage: parts.storage },
    authorize: () => true,
    keepAlive: 200,
    ...parts.options,
  });
  const server = await serve(handler);
  return { app, handler, api: `${server.url}/api/chat`, close: () => server.close() };
}
