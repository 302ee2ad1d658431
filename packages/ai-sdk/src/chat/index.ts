export { createChatHandler, type ChatAction, type ChatInput, type ChatOptions } from "./handler.ts";
export { chatStream, chatStreamName } from "./log.ts";
export type { OnReset } from "./viewer.ts";
