export { createChatHandler, type ChatAction, type ChatInput, type ChatOptions } from "./handler.ts";
export { chatStream, chatStreamName } from "./chat-stream.ts";
export type { OnReset } from "./viewer.ts";
