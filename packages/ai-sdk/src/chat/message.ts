/**
 * The message that a run writes, as clients know it.
 *
 * M1. All attempts of a run show one message: the first id that was recorded is the id of all of them, whatever a later
 *     attempt generates.
 * M2. A turn that continues a message of the assistant has the id of that message. A client that sent it has the earlier
 *     parts. A client that loads the answer from its beginning gets them again before the new ones.
 *
 * Proven in test/chat-rounds.test.ts and test/chat-message.test.ts.
 */

import type { Entry } from "@durable/core/types";
import { partsOf, type Part, type PartChunk } from "../chunks.ts";
import { continuedMessage, type Message } from "./asked.ts";
import { chatStreamName } from "./chat-stream.ts";
import { priorParts } from "./prior.ts";

/** How far an answer is: under way, complete, or ended without success. */
export type Progress = "open" | "complete" | "ended";

/** What a journal has of an answer. */
export class Recorded {
  readonly #entries: readonly Entry[];
  readonly #chunks: Extract<Entry, { kind: "stream.chunks" }>[];
  /** The message that the run continues, or `null`. */
  readonly continued: Message | null;

  constructor(entries: readonly Entry[], input?: unknown) {
    this.#entries = entries;
    this.#chunks = entries.flatMap((entry) =>
      entry.kind === "stream.chunks" && isChatStream(entry.key) ? [entry] : [],
    );
    const first = entries[0];
    this.continued = continuedMessage(input ?? (first?.kind === "run.started" ? first.input : null));
  }

  /** The answer is complete before its run is: the run may have to save it. */
  get progress(): Progress {
    const end = this.#entries.at(-1)?.kind;
    if (end === "run.failed" || end === "run.cancelled") return "ended";
    const isComplete = this.#entries.some(
      (entry) => entry.kind === "stream.completed" && isChatStream(entry.key),
    );
    const last = this.#chunks.at(-1)?.chunks.at(-1);
    const type = last === undefined ? "" : partsOf(last as PartChunk).at(-1)?.type;
    if (isComplete && (type === "error" || type === "abort")) return "ended";
    return isComplete || end === "run.completed" ? "complete" : "open";
  }

  /** The latest attempt. */
  get attempt(): number {
    return this.#chunks.reduce((latest, { attempt }) => Math.max(latest, attempt), 1);
  }

  /** The id of the message, if it is known already. */
  get messageId(): string | null {
    if (this.continued !== null) return this.continued.id as string;
    for (const { chunks } of this.#chunks)
      for (const part of chunks.flatMap((chunk) => partsOf(chunk as PartChunk)))
        if (part.type === "start" && typeof part["messageId"] === "string") return part["messageId"];
    return null;
  }

  /** The first parts of an attempt; `null` if it has not that many. */
  first(attempt: number, count: number): readonly Part[] | null {
    const parts: Part[] = [];
    for (const entry of this.#chunks)
      if (entry.attempt === attempt && parts.length < count)
        parts.push(...entry.chunks.flatMap((chunk) => partsOf(chunk as PartChunk)));
    return parts.length < count ? null : parts.slice(0, count);
  }

  /** The parts that the run itself has written, in its latest attempt. */
  get parts(): readonly Part[] {
    const { attempt } = this;
    return this.#chunks
      .filter((entry) => entry.attempt === attempt)
      .flatMap(({ chunks }) => chunks.flatMap((chunk) => partsOf(chunk as PartChunk)));
  }

  /** The parts that the continued message had before. */
  prior(knowsApprovals: boolean): readonly Part[] {
    return this.continued === null ? [] : priorParts(this.continued, knowsApprovals);
  }
}

/** The stream may be recorded in a branch of the workflow. */
function isChatStream(key: string): boolean {
  return key === chatStreamName || key.endsWith(`/${chatStreamName}`);
}

/** Gives the message its id: the known one, or the first one that comes. */
export class Naming {
  #id: string | null;

  constructor(id: string | null) {
    this.#id = id;
  }

  named(part: Part): Part {
    if (part.type !== "start") return part;
    if (this.#id === null && typeof part["messageId"] === "string") this.#id = part["messageId"];
    return this.#id === null ? part : { ...part, messageId: this.#id };
  }
}
