import { createChatHandler } from "@durable/ai-sdk/chat";
import { durableApp } from "../../../../lib/app";

export const dynamic = "force-dynamic";
/** Seconds for one request on a serverless host. What takes longer is continued by the next one. */
export const maxDuration = 300;

const chat = (request: Request): Promise<Response> =>
  // Check here who the user is, and whether the chat is theirs.
  createChatHandler(durableApp(), { workflow: "answer", authorize: () => true })(request);

export { chat as DELETE, chat as GET, chat as POST };
