/** The chats of two tenants: a workflow that asks before it pays, and requests of a hostile client. */
import { durable } from "@durable/core";
import { fingerprint } from "@durable/core/storage";
import type { Random } from "@durable/testing";
import { chatStream, type ChatInput } from "../../packages/ai-sdk/src/chat/index.ts";
import { chatRoutes } from "../../packages/ai-sdk/src/chat/routes.ts";

interface Message {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

/** A payment, and the message whose question was approved. */
export interface Paid {
  readonly chatId: string;
  readonly messageId: string;
  readonly to: unknown;
}

/** Repeats the words of its user and asks for a payment; once that is approved, pays. */
export function chatWorkflow(paid: Paid[]) {
  return durable("chat", async (ctx, { chatId, messages }: ChatInput) => {
    const last = messages.at(-1) as Message | undefined;
    const call = last?.role === "assistant" ? last.parts.find(isApproved) : undefined;
    if (last === undefined || call === undefined)
      return chatStream(
        ctx,
        streamOf([
          { type: "start" },
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: JSON.stringify(messages) },
          { type: "tool-input-available", toolCallId: "c1", toolName: "pay", input: { to: chatId } },
          { type: "tool-approval-request", toolCallId: "c1", approvalId: "a1" },
        ]),
      );
    const { to } = call["input"] as { readonly to: unknown };
    await ctx.step("pay c1", () => paid.push({ chatId, messageId: last.id, to }));
    await chatStream(
      ctx,
      streamOf([{ type: "start" }, { type: "tool-output-available", toolCallId: "c1", output: "paid" }]),
    );
  });
}

function isApproved({ type, state, approval }: Readonly<Record<string, unknown>>): boolean {
  const { approved } = Object(approval) as { readonly approved?: unknown };
  return type === "tool-pay" && state === "approval-responded" && approved === true;
}

function streamOf(parts: readonly object[]): ReadableStream<object> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

export const user = (text: string): Message => ({
  id: "u",
  role: "user",
  parts: [{ type: "text", text }],
});

/** What the ids of the runs of a chat begin with. */
export const runsOf = (chatId: string): string => `chat-${fingerprint(chatId)}`;

/** A request to a random route of the chat, of a client that knows the runs of all chats. */
export function chatRequest(
  random: Random,
  origin: string,
  runs: readonly string[],
): { readonly url: string; readonly method: string; readonly body?: string } {
  const { method, path } = random.pick(chatRoutes);
  const chatId = random.pick(["m-chat", "m-chat", "m-other", "v-chat", "v-other"]);
  const query = path !== "" && random.chance(0.5) ? `?run=${random.pick(runs)}` : "";
  const url = `${origin}/api/chat${path.replace("{chatId}", chatId)}${query}`;
  if (path !== "" || method === "GET") return { url, method };
  const messages = [user("mine"), ...(random.chance(0.7) ? [answered(random, random.pick(runs))] : [])];
  const trigger = random.pick(["submit-message", "regenerate-message"]);
  return { url, method, body: JSON.stringify({ id: chatId, messages, trigger }) };
}

/** The answer of a run, with its question approved, as it was asked or not. */
function answered(random: Random, run: string): Message {
  const call = {
    type: random.chance(0.9) ? "tool-pay" : "tool-look",
    toolCallId: random.chance(0.9) ? "c1" : "c2",
    state: "approval-responded",
    input: { to: random.chance(0.8) ? "m-chat" : "v-chat" },
    approval: { id: random.chance(0.9) ? "a1" : "a2", approved: true, reason: random.pick(["", "x", "y"]) },
  };
  return { id: `msg-${run}`, role: "assistant", parts: [call] };
}

/** Payments that no tenant has approved: those of another chat or input, and the second for a question. */
export function wrongPayments(paid: readonly Paid[]): string[] {
  const once = new Set<string>();
  return paid.flatMap(({ chatId, messageId, to }) => {
    const isRight = chatId.startsWith("m-") && to === chatId && !once.has(messageId);
    once.add(messageId);
    return isRight ? [] : [`chat ${chatId} paid to ${String(to)} for ${messageId}`];
  });
}
