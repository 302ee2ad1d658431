/** Reads the events of a dashboard. */

import type { Site } from "./ask.ts";

const counted = (text: string, event: string): number => text.split(`event: ${event}\n`).length - 1;

export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = "";

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  static async open(site: Site, path: string): Promise<Events> {
    const response = await site.fetch(`/api/${path}`);
    if (response.headers.get("content-type") !== "text/event-stream") throw new Error(await response.text());
    return new Events(response.body!);
  }

  /** Reads on until the text fits. */
  async until(fits: (text: string) => boolean): Promise<string> {
    while (!fits(this.#text)) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.#text += new TextDecoder().decode(value);
    }
    return this.#text;
  }

  /** Reads on until an event has come at least so often; gives how often it came. */
  async count(event: string, least = 0): Promise<number> {
    return counted(await this.until((text) => counted(text, event) >= least), event);
  }

  async close(): Promise<void> {
    await this.#reader.cancel();
  }
}
