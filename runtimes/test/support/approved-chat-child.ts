/**
 * A process that serves a chat whose tool asks a person, and the routes of runs beside it:
 *
 *     node approved-chat-child.ts <journal> <provider> <effects>
 */

import { appendFileSync } from "node:fs";
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { convertToModelMessages, isStepCount, streamText, tool, type UIMessage } from "ai";
import { z } from "zod";
import { chatStream, createChatHandler, type ChatInput } from "../../../packages/ai-sdk/src/chat/index.ts";
import { durableModel, durableTools } from "../../../packages/ai-sdk/src/index.ts";
import { latest } from "../../../packages/ai-sdk/test/support/versions.ts";
import { createHandler } from "../../../packages/http/src/index.ts";
import { serve } from "../../../packages/http/src/node/index.ts";
import { secret } from "./approved-chat.ts";

const [journal = "", provider = "", effects = ""] = process.argv.slice(2);
const note = (what: string): void => appendFileSync(effects, `${what}\n`);

const pay = tool({
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => {
    note(`paid ${amount}`);
    return "paid";
  },
});
const answer = durable("answer", async (ctx, input: ChatInput) => {
  const result = streamText({
    model: durableModel(ctx, latest.models.chat(provider)),
    messages: await convertToModelMessages(input.messages as UIMessage[]),
    tools: durableTools(ctx, { pay }, { pay: { approve: { notify: () => note("told") } } }),
    stopWhen: isStepCount(4),
  });
  await chatStream(ctx, result.toUIMessageStream());
});

const storage = new SqliteStorage(journal);
const app = createApp({ storage, secret, workflows: [answer] });
const authorize = () => true;
const chat = createChatHandler(app, {
  workflow: "answer",
  journal: { storage },
  authorize,
  keepAlive: 200,
});
const runs = createHandler(app, { authorize, basePath: "/durable" });
const server = await serve((request) =>
  new URL(request.url).pathname.startsWith("/durable/") ? runs(request) : chat(request),
);
console.log(server.url);
