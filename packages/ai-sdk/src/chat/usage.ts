/** What a chat used: one run per message. Proven in test/usage-of-many.test.ts. */

import type { App, JournalOptions } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import { childrenIn, usageOfMany, type ManyUsage, type UsageOptions } from "../usage.ts";
import { Turns } from "./turns.ts";

/** Options of `usageOfChat`. */
export interface ChatUsageOptions extends Pick<UsageOptions, "prices"> {
  /** As of `createChatHandler`. */
  readonly journal?: JournalOptions | undefined;
}

/**
 * Tokens and costs of all answers of a chat, also of those that another answer replaced, with their children:
 * `await usageOfChat(app, chatId)`.
 */
export async function usageOfChat(
  app: App,
  chatId: string,
  options: ChatUsageOptions = {},
): Promise<ManyUsage> {
  assertOptions(options, "prices journal", "usageOfChat");
  const { journal = { app }, ...others } = options;
  return usageOfMany(app, await new Turns(journal).runs(chatId), childrenIn, others);
}
