export { createChatHandler, type ChatOptions } from "./handler.ts";
export type { ChatTool } from "./results.ts";
export type { ChatAction } from "./routes.ts";
export type { ChatInput } from "./asked.ts";
export { chatMessageId, chatStream, chatStreamName } from "./chat-stream.ts";
export type { OnReset } from "./viewer.ts";
export { usageOfChat, type ChatUsageOptions } from "./usage.ts";
export {
  chatMessages,
  type ChatAnswer,
  type ChatHistory,
  type ChatMessage,
  type ChatMessagesOptions,
  type ChatPart,
} from "./history.ts";
export {
  deleteChat,
  listChats,
  type ChatPage,
  type ChatRow,
  type DeleteChatOptions,
  type ListChatsOptions,
} from "./chats.ts";
