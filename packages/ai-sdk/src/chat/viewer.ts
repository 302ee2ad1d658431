/**
 * What one viewer of a chat is sent.
 *
 * V1. A viewer sees one growing message. After the run restarts, equal parts are not sent again.
 * V2. At the first difference the current step is reset and sent as it is now. If that is not possible, or
 *     the client does not support it, its connection is closed, and the client reconnects for the whole
 *     message.
 * V3. A part has its place as an id: the attempt, and its index there. A viewer that comes back with the place
 *     after its last part is treated as if it had stayed.
 */

import type { StreamEvent } from "@durable/core";
import { partsOf, type Part, type PartChunk } from "../chunks.ts";
import { Naming } from "./message.ts";

/**
 * `reset-step` tells the client to drop what it has seen of the step, which clients understand since 7.0.169;
 * `close` ends the stream.
 */
export type OnReset = "reset-step" | "close";

/** A part, and the place that a viewer has reached with it. */
export interface Sent {
  readonly part: Part;
  /** `null` for a part that only makes sense with the next one. */
  readonly id: string | null;
}

export interface ViewerOptions {
  readonly onReset: OnReset;
  /** The attempt that is read first; 1 by default. */
  readonly attempt?: number;
  /** What the viewer has seen already. */
  readonly seen?: readonly Part[];
  /** Parts that the message had before, for a viewer that begins it anew. */
  readonly prior?: readonly Part[];
  /** The metadata that the message had before. */
  readonly metadata?: unknown;
  /** The id of the message; the first one that is recorded by default. */
  readonly messageId?: string | null;
}

/** Parts for a viewer; returns true at the end, and false if the viewer must reconnect. */
export async function* partsFor(
  events: AsyncIterable<StreamEvent<PartChunk>>,
  options: ViewerOptions,
): AsyncGenerator<Sent, boolean, undefined> {
  const naming = new Naming(options.messageId ?? null);
  const { prior = [], seen = [] } = options;
  const viewer = new Viewer(
    options,
    seen.map((part) => naming.named(part)),
  );
  let isFirst = seen.length === 0 && prior.length > 0;
  for await (const event of events) {
    if (event.type === "reset") {
      viewer.reset(event.attempt);
      continue;
    }
    for (const part of partsOf(event.value)) {
      const sent = viewer.sent(naming.named(part));
      if (sent === null) return false;
      const [first, ...rest] = sent;
      if (!isFirst || first === undefined) yield* sent;
      else yield* [...withPrior(first, naming, options), ...rest];
      isFirst &&= first === undefined;
    }
  }
  // An attempt that ended before the parts of an earlier one is a different answer.
  return viewer.settled;
}

/** The prior parts after the start of the message. Only the last one has a place: a viewer needs all of them. */
function withPrior({ part, id }: Sent, naming: Naming, { prior = [], metadata }: ViewerOptions): Sent[] {
  const isStart = part.type === "start";
  const begin = isStart ? part : naming.named({ type: "start" });
  const start = metadata === undefined ? begin : { ...begin, messageMetadata: merged(metadata, begin) };
  const parts = [start, ...prior, ...(isStart ? [] : [part])];
  return parts.map((one, index) => ({ part: one, id: index === parts.length - 1 ? id : null }));
}

/** Metadata with what a part adds to it. */
export function merged(before: unknown, { messageMetadata: now }: Part): unknown {
  if (now === undefined) return before;
  if (!isRecord(before) || !isRecord(now)) return now;
  const both = Object.entries(now).map(([name, messageMetadata]): [string, unknown] => [
    name,
    merged(before[name], { type: "", messageMetadata }),
  ]);
  return { ...before, ...Object.fromEntries(both) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

class Viewer {
  readonly #onReset: OnReset;
  #attempt: number;
  /** The parts that the viewer has, as text. */
  #seen: string[];
  /** The parts since the reset, equal so far; `null` when the viewer is up to date. */
  #again: Part[] | null = null;

  constructor({ onReset, attempt = 1 }: ViewerOptions, seen: readonly Part[]) {
    this.#onReset = onReset;
    this.#attempt = attempt;
    this.#seen = seen.map((part) => JSON.stringify(part));
    this.reset(attempt);
  }

  get settled(): boolean {
    return this.#again === null || this.#again.length === this.#seen.length;
  }

  reset(attempt: number): void {
    this.#attempt = attempt;
    if (this.#seen.length > 0) this.#again = [];
  }

  /** The parts to send after this one; `null` if the viewer must reconnect. */
  sent(part: Part): readonly Sent[] | null {
    const text = JSON.stringify(part);
    if (this.#again === null) {
      this.#seen.push(text);
      return [this.#at(part, this.#seen.length - 1)];
    }
    const place = this.#again.length;
    this.#again.push(part);
    if (this.#seen[place] === text) {
      if (this.#again.length === this.#seen.length) this.#again = null;
      return [];
    }
    return this.#differs(this.#again, place);
  }

  #differs(again: readonly Part[], place: number): readonly Sent[] | null {
    const begun = again.findLastIndex(({ type }, index) => type === "start-step" && index < place);
    // The viewer may be steps ahead, and only the last step can be reset.
    const ahead = this.#seen.slice(place).some((text) => (JSON.parse(text) as Part).type === "start-step");
    if (this.#onReset === "close" || begun === -1 || ahead) return null;
    this.#seen = again.map((part) => JSON.stringify(part));
    this.#again = null;
    return [
      this.#at({ type: "reset-step" }, begun),
      ...again.slice(begun + 1).map((part, index) => this.#at(part, begun + 1 + index)),
    ];
  }

  #at(part: Part, index: number): Sent {
    return { part, id: `${this.#attempt}.${index}` };
  }
}
