/**
 * The messages of a run: those that no receive has read yet, and the ids of those that were sent.
 *
 * mailbox.1. A message is read once: the entry that names it as its `answer` takes it out, whichever driver wrote it.
 * mailbox.2. Messages that a chapter has not read are in the first entry of the next one, in their order, before new
 *     messages.
 */

import type { Json } from "../values/codec/tags.ts";
import type { Entry } from "./entry.ts";

export type Message = Entry & { readonly kind: "message.sent" };

/** Values are texts, because one value may refer to parts of itself by their number. */
export interface Carried {
  readonly unread: readonly (readonly [topic: string, id: string, at: number, value: string])[];
  readonly ids: readonly (readonly [id: string, content: string])[];
}

export class Mailbox {
  /** Unread messages by position, in the order in which they were recorded. */
  readonly unread = new Map<number, Message>();
  /** What was sent, by id; of earlier chapters only its content. */
  readonly ids = new Map<string, string | Message>();

  learn(entry: Entry): void {
    if (entry.kind === "message.sent") this.#add(entry);
    else if ("answer" in entry && entry.answer !== undefined) this.unread.delete(entry.answer);
    else if (entry.kind === "run.continued" && entry.messages !== undefined) {
      for (const [id, content] of carriedBy(entry).ids) this.ids.set(id, content);
      for (const message of unreadOf(entry)) this.#add(message);
    }
  }

  #add(message: Message): void {
    this.unread.set(message.seq, message);
    if (message.id !== undefined) this.ids.set(message.id, message);
  }
}

/** The unread messages that a chapter begins with. Their positions are negative, so that they come before all others. */
export function unreadOf(entry: Entry): Message[] {
  if (entry.kind !== "run.continued" || entry.messages === undefined) return [];
  const { unread } = carriedBy(entry);
  return unread.map(([topic, id, at, value], i) => ({
    kind: "message.sent",
    topic,
    value: JSON.parse(value) as Json,
    ...(id === "" ? {} : { id }),
    at,
    seq: i - unread.length,
    outside: true,
  }));
}

function carriedBy(entry: Entry & { kind: "run.continued" }): Carried {
  return entry.messages as unknown as Carried;
}
