/** An answer that waits for a person is parked, whatever viewers do, and goes on where it was once the person has answered. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { serve } from "@durable/http/node";
import { convertToModelMessages, isStepCount, streamText, tool, type UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { chatStream, createChatHandler, type ChatInput } from "../src/chat/index.ts";
import { durableModel, durableTools } from "../src/index.ts";
import { ChatClient } from "./support/chat-client.ts";
import { secret } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { latest } from "./support/versions.ts";

const patient = { timeout: 30_000, interval: 20 };

/** A process with the chat: all of them share the storage. */
function host(storage: MemoryStorage, url: string, warm: number) {
  const paid: number[] = [];
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    execute: ({ amount }) => paid.push(amount),
  });
  const answer = durable("answer", async (ctx, input: ChatInput) => {
    const result = streamText({
      model: durableModel(ctx, latest.models.chat(url)),
      messages: await convertToModelMessages(input.messages as UIMessage[]),
      tools: durableTools(ctx, { pay }, { pay: { approve: true } }),
      stopWhen: isStepCount(4),
    });
    await chatStream(ctx, result.toUIMessageStream());
    return result.text;
  });
  const app = createApp({ storage, secret, workflows: [answer], warm, bind: false });
  return { app, paid };
}

test.each([
  { name: "in memory", warm: 100 },
  { name: "in another life", warm: 0 },
])("the run is parked while it asks, and goes on $name", async ({ warm }) => {
  const server = await Provider.open(({ results }) =>
    results === 0
      ? { text: "I will pay.", calls: [{ tool: "pay", input: { amount: 5 } }] }
      : { text: "Paid it." },
  );
  const storage = new MemoryStorage();
  const { app, paid } = host(storage, server.url, warm);
  const handler = createChatHandler(app, { workflow: "answer", authorize: () => true, keepAlive: 50 });
  const served = await serve(handler);
  try {
    const client = new ChatClient(`${served.url}/api/chat`);
    const sent = client.sendMessage({ text: "Pay." });
    const parked = await vi.waitFor(async () => {
      const { runs } = await app.list({ workflow: "answer", status: "suspended" });
      expect(runs).toHaveLength(1);
      return runs[0]!;
    }, patient);
    const run = app.get(parked.runId);
    const asks = (await run.entries()).length;
    // Viewers look after the run all the time, and none begins the answer again.
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await run.entries()).length).toBe(asks);
    expect(parked.driven ?? false).toBe(false);
    expect(client.answer).toBe("I will pay.");
    const outcome = await run.outcome();
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    await app.resume(outcome.waiting[0]!.token, true);
    await sent;
    expect(client.answer).toBe("I will pay.|Paid it.");
    expect(client.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect([paid, server.requests.length]).toEqual([[5], 2]);
    expect(await run.result()).toBe("Paid it.");
    const attempts = (await run.entries()).flatMap((entry) =>
      entry.kind === "stream.chunks" && entry.key === "chat" ? [entry.attempt] : [],
    );
    expect(Math.max(...attempts)).toBe(warm === 0 ? 2 : 1);
  } finally {
    await served.close();
    await server.close();
  }
});

test("words that come while the run is parked are recorded, each once", async () => {
  let speak = (): void => {};
  const answer = durable("answer", async (ctx) => {
    const asked = ctx.suspend("ask");
    const spoken = new Promise<void>((resolve) => (speak = resolve));
    const say = (delta: string) => ({ type: "text-delta", id: "t", delta });
    const parts = new ReadableStream<object>({
      start: async (to) => {
        to.enqueue({ type: "start", messageId: "m" });
        to.enqueue(say("one"));
        await spoken;
        to.enqueue(say("two"));
        await asked;
        to.enqueue(say("three"));
        to.close();
      },
    });
    await chatStream(ctx, parts);
    return "done";
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [answer], bind: false });
  const run = await app.start(answer, undefined, { id: "r" });
  const parked = async (): Promise<string> => {
    const outcome = await run.outcome();
    expect(outcome.status).toBe("suspended");
    return "waiting" in outcome ? (outcome.waiting[0]?.token ?? "") : "";
  };
  const words = async (): Promise<string> =>
    JSON.stringify(
      (await run.entries()).flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : [])),
    );
  await vi.waitFor(parked, patient);
  expect(await words()).not.toContain("two");
  speak();
  await vi.waitFor(async () => expect(await words()).toContain("two"), patient);
  const token = await vi.waitFor(parked, patient);
  await app.resume(token, true);
  expect(await run.result()).toBe("done");
  expect((await words()).match(/one|two|three/g)).toEqual(["one", "two", "three"]);
});
