/** The transport of the page: reconnects by itself until the answer is complete. */

import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";

export interface TransportEvents {
  /** The server did not respond, or a connection broke. */
  onLost(): void;
  /** The server responds again. */
  onFound(): void;
  /** A response that streams a run begins; `isNew` if this page asked for the run. */
  onResponse(runId: string, isNew: boolean): Promise<void>;
}

type Send = Parameters<DefaultChatTransport<UIMessage>["sendMessages"]>[0];
type Reconnect = Parameters<DefaultChatTransport<UIMessage>["reconnectToStream"]>[0];
type Chunks = ReadableStream<UIMessageChunk>;

export function createTransport(events: TransportEvents): DefaultChatTransport<UIMessage> {
  return new SteadyTransport(events);
}

class SteadyTransport extends DefaultChatTransport<UIMessage> {
  readonly #events: TransportEvents;

  constructor(events: TransportEvents) {
    super({
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const runId = response.headers.get("x-durable-run-id");
        if (runId !== null) await events.onResponse(runId, init?.method === "POST");
        return response;
      },
    });
    this.#events = events;
  }

  override async sendMessages(options: Send): Promise<Chunks> {
    const first = await this.#persist(() => super.sendMessages(options), options.abortSignal);
    return this.#steady(first, options as Reconnect);
  }

  override async reconnectToStream(options: Reconnect): Promise<Chunks | null> {
    const first = await this.#again(options);
    return first === null ? null : this.#steady(first, options);
  }

  #again(options: Reconnect): Promise<Chunks | null> {
    return this.#persist(() => super.reconnectToStream(options), options.abortSignal);
  }

  /** Repeats a request until the server responds. */
  async #persist<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let delay = 200; ; delay = Math.min(2 * delay, 2_000)) {
      try {
        const result = await request();
        this.#events.onFound();
        return result;
      } catch (error) {
        if (!(error instanceof TypeError) || signal?.aborted === true) throw error;
        this.#events.onLost();
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }

  #steady(first: Chunks, options: Reconnect): Chunks {
    const seen: string[] = [];
    const run = async function* (this: SteadyTransport): AsyncGenerator<UIMessageChunk> {
      for (let stream: Chunks | null = first; stream !== null; stream = await this.#again(options)) {
        let done = false;
        try {
          for await (const chunk of continued(stream, seen)) {
            yield chunk;
            done ||= chunk.type === "finish" || chunk.type === "abort" || chunk.type === "error";
          }
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
        }
        if (done || options.abortSignal?.aborted === true) return;
        this.#events.onLost();
      }
    };
    const chunks = run.call(this);
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    });
  }
}

/** The chunks of a stream that starts over, without those that were seen; at a difference, the step again. */
async function* continued(stream: Chunks, seen: string[]): AsyncGenerator<UIMessageChunk> {
  const again: UIMessageChunk[] = [];
  let isBehind = seen.length > 0;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const { value } = next;
    const text = JSON.stringify(value);
    if (!isBehind) {
      seen.push(text);
      yield value;
      continue;
    }
    const place = again.push(value) - 1;
    if (seen[place] === text) {
      isBehind = again.length < seen.length;
      continue;
    }
    const step = again.findLastIndex(({ type }, index) => type === "start-step" && index < place);
    seen.splice(0, seen.length, ...again.map((chunk) => JSON.stringify(chunk)));
    isBehind = false;
    yield { type: "reset-step" };
    yield* again.slice(step + 1);
  }
}
