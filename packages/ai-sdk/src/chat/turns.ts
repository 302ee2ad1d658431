/** The runs of a chat: one for each turn, listed in a journal of the chat. Proven in test/chat.test.ts. */

import { DurableError, fingerprint, Journal, type JournalOptions } from "@durable/core";

/** A message that was sent. */
export interface Sent {
  readonly chatId: string;
  /** Identifies the message within its chat. */
  readonly id: string;
}

export class Turns {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** The run of this message, recorded before it starts, so that a message that is sent twice has one run. */
  async add({ chatId, id }: Sent): Promise<string> {
    const journal = await this.#open(chatId);
    const runId = `chat-${fingerprint(chatId)}-${fingerprint(id)}`;
    const known = runsIn(journal);
    if (known.includes(runId)) return runId;
    // Another request may take the number first; then the journal returns that one.
    for (let turn = known.length + 1; ; turn++)
      if ((await journal.record(`turn ${turn}`, () => runId)) === runId) return runId;
  }

  /** The run of the last message, or `null`. */
  async last(chatId: string): Promise<string | null> {
    return runsIn(await this.#open(chatId)).at(-1) ?? null;
  }

  #open(chatId: string): Promise<Journal> {
    return Journal.open(`chat-${fingerprint(chatId)}`, this.#options);
  }
}

function runsIn(journal: Journal): string[] {
  return journal
    .entries()
    .flatMap((entry) => (entry.kind === "step.completed" ? [entry.value as string] : []));
}

/** Resolves to `otherwise` if there is no such run. */
export async function unlessMissing<T, O>(work: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await work;
  } catch (error) {
    if (DurableError.is(error, "not-found")) return otherwise;
    throw error;
  }
}
