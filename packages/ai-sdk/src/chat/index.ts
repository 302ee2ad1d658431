export { createChatHandler, type ChatOptions } from "./handler.ts";
export type { ChatAction } from "./routes.ts";
export type { ChatInput } from "./asked.ts";
export { chatMessageId, chatStream, chatStreamName } from "./chat-stream.ts";
export type { OnReset } from "./viewer.ts";
export { usageOfChat, type ChatUsageOptions } from "./usage.ts";
