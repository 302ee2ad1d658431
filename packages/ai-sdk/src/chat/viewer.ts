/**
 * What one viewer of a chat is sent.
 *
 * V1. A viewer sees one growing message. After the run restarts, equal parts are not sent again.
 * V2. At the first difference the current step is reset and sent as it is now. If that is not possible, or
 *     the client does not support it, its connection is closed, and the client reconnects for the whole
 *     message.
 */

import type { StreamEvent } from "@durable/core";
import { partsOf, type Part, type PartChunk } from "../chunks.ts";

/**
 * `reset-step` tells the client to drop what it has seen of the step, which clients understand since 7.0.169;
 * `close` ends the stream.
 */
export type OnReset = "reset-step" | "close";

/** Parts for a new viewer; returns true at the end, and false if the viewer must reconnect. */
export async function* partsFor(
  events: AsyncIterable<StreamEvent<PartChunk>>,
  onReset: OnReset,
): AsyncGenerator<Part, boolean, undefined> {
  const viewer = new Viewer(onReset);
  for await (const event of events) {
    if (event.type === "reset") {
      viewer.reset();
      continue;
    }
    for (const part of partsOf(event.value)) {
      const sent = viewer.sent(part);
      if (sent === null) return false;
      yield* sent;
    }
  }
  // An attempt that ended before the parts of an earlier one is a different answer.
  return viewer.settled;
}

class Viewer {
  readonly #onReset: OnReset;
  /** The parts that the viewer has, as text. */
  #seen: string[] = [];
  /** The parts since the reset, equal so far; `null` when the viewer is up to date. */
  #again: Part[] | null = null;

  constructor(onReset: OnReset) {
    this.#onReset = onReset;
  }

  get settled(): boolean {
    return this.#again === null || this.#again.length === this.#seen.length;
  }

  reset(): void {
    if (this.#seen.length > 0) this.#again = [];
  }

  /** The parts to send after this one; `null` if the viewer must reconnect. */
  sent(part: Part): readonly Part[] | null {
    const text = JSON.stringify(part);
    if (this.#again === null) {
      this.#seen.push(text);
      return [part];
    }
    const place = this.#again.length;
    this.#again.push(part);
    if (this.#seen[place] === text) {
      if (this.#again.length === this.#seen.length) this.#again = null;
      return [];
    }
    return this.#differs(this.#again, place);
  }

  #differs(again: readonly Part[], place: number): readonly Part[] | null {
    const begun = again.findLastIndex(({ type }, index) => type === "start-step" && index < place);
    // The viewer may be steps ahead, and only the last step can be reset.
    const ahead = this.#seen.slice(place).some((text) => (JSON.parse(text) as Part).type === "start-step");
    if (this.#onReset === "close" || begun === -1 || ahead) return null;
    this.#seen = again.map((part) => JSON.stringify(part));
    this.#again = null;
    return [{ type: "reset-step" }, ...again.slice(begun + 1)];
  }
}
