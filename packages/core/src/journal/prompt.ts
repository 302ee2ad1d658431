/** What was asked of a model, as an entry keeps it beside the outcome. Adapters make it; inspect/prompt.ts reads it. */

import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Entry } from "./entry.ts";
import type { RunJournal } from "./journal.ts";

/** The call that asks, and what its run has recorded. */
export interface Asking {
  readonly key: string;
  /** The highest position that the workflow had seen when it made the call. */
  readonly after: number;
  /** Encoded. */
  readonly entries: readonly Entry[];
}

/**
 * A question as it is recorded: what it adds to an earlier one. The prompts of a conversation begin with those before them, so
 * each costs what it adds.
 */
export interface PromptRecord {
  /** It begins with this many messages of an earlier record, up to the one with this hash. */
  readonly keep?: number;
  readonly after?: string;
  /** The messages that follow, and their hashes, each of all messages up to it. */
  readonly add: readonly unknown[];
  readonly hashes: readonly string[];
  /** Names what else is asked; it stands in the first record with this name. */
  readonly about: string;
  readonly with?: PromptSettings;
}

/** What is asked beside messages. */
export interface PromptSettings {
  readonly model: string;
  readonly provider: string;
  readonly tools: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Makes what is kept of a question. */
export type MakePrompt = (asking: Asking) => PromptRecord;

/** What the work of a step or stream gets beside `StepInfo`, for adapters: keeps what is asked, if the app wants that. */
export interface KeepsPrompt {
  keepPrompt(make: MakePrompt): void;
}

/** The field of an entry. A question that cannot be kept, such as one that is too large, does not stop its call. */
export function promptField(
  { prompts, entries }: Pick<RunJournal, "prompts" | "entries">,
  make: MakePrompt,
  call: Pick<Asking, "key" | "after">,
): { readonly prompt?: Json } {
  try {
    if (prompts) return { prompt: encode(make({ ...call, entries }), "prompt") };
  } catch {
    // Its call counts, and not what people can read of it.
  }
  return {};
}
