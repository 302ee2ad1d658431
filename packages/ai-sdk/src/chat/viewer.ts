/**
 * What one viewer of a chat is sent.
 *
 * V1. A viewer sees one message that grows. When the run began anew, what comes again and is equal is not sent again.
 * V2. At the first difference the step it lies in is taken back, and sent as it is now. Where that cannot be said, or
 *     the client does not know how to take a step back, its connection is closed: it comes back for all of it.
 */

import type { StreamEvent } from "@durable/core";
import { partsOf, type Part, type PartChunk } from "../chunks.ts";

/**
 * `reset-step` tells the client to drop what it has seen of the step, which clients understand since 7.0.169;
 * `close` ends the stream.
 */
export type OnReset = "reset-step" | "close";

/** Parts for a viewer who has seen nothing yet; returns true at the end, and false where the viewer has to come back. */
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
  // An attempt that ended where an earlier one had gone on is another answer.
  return viewer.settled;
}

class Viewer {
  readonly #onReset: OnReset;
  /** What the viewer has, as text. */
  #seen: string[] = [];
  /** What has come again since the reset, equal so far; `null` when the viewer is up to date. */
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

  /** What is to be sent now that this part has come; `null` when the viewer has to come back. */
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
    // The viewer may be steps ahead, and only the last one can be taken back.
    const ahead = this.#seen.slice(place).some((text) => (JSON.parse(text) as Part).type === "start-step");
    if (this.#onReset === "close" || begun === -1 || ahead) return null;
    this.#seen = again.map((part) => JSON.stringify(part));
    this.#again = null;
    return [{ type: "reset-step" }, ...again.slice(begun + 1)];
  }
}
