/**
 * A chat transport of the SDK that reconnects by itself, for browsers: it imports nothing.
 *
 * R1. A connection that breaks before the end of the answer is opened again at the place that was reached. The client
 *     sees one stream.
 * R2. A request that got no answer is sent again with the same idempotency key, so it starts one run.
 * R3. An abort stops the run of this stream, and no other one. A page that is closed aborts nothing.
 *
 * Proven in test/chat-transport.test.ts and test/chat-kills.test.ts.
 */

import {
  aborted,
  Patience,
  Requests,
  type ChatTransportOptions,
  type ChatRequestOptions,
} from "./requests.ts";
import { serverEvents } from "./sse.ts";

export type { ChatTransportOptions, Given, ChatRequestOptions } from "./requests.ts";

/** What a client of the SDK passes with a message. */
export interface ChatSendOptions extends ChatRequestOptions {
  readonly trigger: string;
  readonly messageId?: string | undefined;
  readonly messages: readonly unknown[];
}

/** A `ChatTransport` of `ai` 5, 6 and 7. `Chunk` is the SDK's type of a part. */
export interface DurableChatTransport {
  /** Tells the SDK that `reconnectToStream` begins with the first part. */
  readonly resumeStreamIsReplay: true;
  sendMessages<Chunk>(options: ChatSendOptions): Promise<ReadableStream<Chunk>>;
  reconnectToStream<Chunk>(options: ChatRequestOptions): Promise<ReadableStream<Chunk> | null>;
  /** Stops the current answer of a chat. */
  stop(chatId: string): Promise<void>;
}

/** Creates a transport for `useChat` or `Chat` that goes on after lost connections and restarts of the server. */
export function durableChatTransport(options: ChatTransportOptions = {}): DurableChatTransport {
  return new Transport(options);
}

interface Part {
  readonly type: string;
}

class Transport implements DurableChatTransport {
  readonly resumeStreamIsReplay = true;
  readonly #options: ChatTransportOptions;
  readonly #requests: Requests;
  /** The latest reconnect of each chat. */
  readonly #reconnects = new Map<string, object>();

  constructor(options: ChatTransportOptions) {
    this.#options = options;
    this.#requests = new Requests(options);
  }

  async sendMessages<Chunk>(options: ChatSendOptions): Promise<ReadableStream<Chunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    const init = await this.#requests.init("POST", options);
    const headers = new Headers(init.headers);
    headers.set("content-type", "application/json");
    headers.set("idempotency-key", newKey());
    const said = this.#options.sends === "last" ? { message: messages.at(-1) } : { messages };
    const fields = { id: chatId, ...said, trigger, messageId };
    const body = JSON.stringify({ ...(await this.#requests.body(options.body)), ...fields });
    const answer = this.#answer(options, null);
    // The run is known only from the response, so an abort waits for it, and then stops the run.
    const sent = answer.open(this.#requests.url(), { ...init, headers, body });
    await Promise.race([sent, abortOf(abortSignal)]);
    return answer.stream<Chunk>();
  }

  async reconnectToStream<Chunk>(options: ChatRequestOptions): Promise<ReadableStream<Chunk> | null> {
    const { chatId, abortSignal } = options;
    const mine = {};
    this.#reconnects.set(chatId, mine);
    const url = this.#requests.url(chatId, "stream");
    const isLatest = (): boolean => this.#reconnects.get(chatId) === mine;
    const answer = this.#answer(options, { url, isLatest });
    const opened = answer.open(url, await this.#requests.init("GET", options));
    const isThere = await Promise.race([opened, abortOf(abortSignal)]);
    return isThere ? answer.stream<Chunk>() : null;
  }

  async stop(chatId: string, query: Readonly<Record<string, string>> = {}): Promise<void> {
    const url = this.#requests.url(chatId, "stop", query);
    const init = { ...(await this.#requests.init("POST")), keepalive: true };
    const patience = new Patience({ ...this.#options.retry, times: 5 });
    await this.#requests.send(url, init, patience, new AbortController().signal);
  }

  #answer(options: ChatRequestOptions, resumed: Resumed | null): Answer {
    const { quietMs = 30_000, retry, stopOnAbort = true } = this.#options;
    const patience = new Patience(retry);
    const stop = async (run: string): Promise<void> => {
      if (stopOnAbort) await this.stop(options.chatId, { run });
    };
    return new Answer({ requests: this.#requests, patience, options, resumed, quietMs, stop });
  }
}

/** A stream that was not begun by sending a message. */
interface Resumed {
  readonly url: string;
  readonly isLatest: () => boolean;
}

interface AnswerParts {
  readonly requests: Requests;
  readonly patience: Patience;
  readonly options: ChatRequestOptions;
  readonly resumed: Resumed | null;
  readonly quietMs: number;
  readonly stop: (run: string) => Promise<void>;
}

/** One answer, over as many connections as it takes. */
class Answer {
  readonly #parts: AnswerParts;
  readonly #connection = new AbortController();
  #response: Response | null = null;
  #run: string | null = null;
  /** The place of the last part. */
  #place: string | null = null;
  #last = "";

  constructor(parts: AnswerParts) {
    this.#parts = parts;
    const { abortSignal } = parts.options;
    abortSignal?.addEventListener("abort", () => void this.#abort(), { once: true });
  }

  /** True when there is an answer. */
  async open(url: string, init: RequestInit): Promise<boolean> {
    const { requests, patience, options } = this.#parts;
    const response = await requests.send(url, init, patience, this.#connection.signal);
    this.#run = response.headers.get("x-durable-run-id") ?? this.#run;
    this.#response = response;
    if (options.abortSignal?.aborted === true) await this.#abort();
    return response.status !== 204;
  }

  stream<Chunk>(): ReadableStream<Chunk> {
    const parts = this.#read();
    return new ReadableStream<Chunk>({
      pull: async (controller) => {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        // The SDK's type of a part is not known here.
        else controller.enqueue(value as Chunk);
      },
      cancel: () => this.#connection.abort(),
    });
  }

  async *#read(): AsyncGenerator<Part, void, undefined> {
    for (;;) {
      try {
        if (yield* this.#connected()) return;
      } catch (error) {
        if (this.#connection.signal.aborted) throw aborted();
        if (error instanceof Changed) throw error;
      }
      if (["finish", "abort", "error"].includes(this.#last)) return;
      await this.#reconnect();
    }
  }

  /** Parts of the connection; true at the end of the answer. Parts without a place belong to the next one. */
  async *#connected(): AsyncGenerator<Part, boolean, undefined> {
    const body = this.#response?.body ?? null;
    if (body === null) return false;
    let held: Part[] = [];
    for await (const { id, data, comment } of serverEvents(body, this.#parts.quietMs)) {
      if (comment === "changed") throw new Changed();
      if (data === null) continue;
      this.#parts.patience.succeeded();
      const isEnd = data === "[DONE]";
      if (!isEnd) held.push(JSON.parse(data) as Part);
      // A server without runs gives no places.
      if (id === null && this.#run !== null && !isEnd) continue;
      this.#place = id ?? this.#place;
      this.#last = held.at(-1)?.type ?? this.#last;
      yield* held;
      held = [];
      if (isEnd) return true;
    }
    return false;
  }

  async #reconnect(): Promise<void> {
    const { requests, options, resumed, patience } = this.#parts;
    if (this.#run === null) throw new TypeError("network error: the connection broke");
    const query = { run: this.#run, from: afterPlace(this.#place) };
    const rest = requests.url(options.chatId, "stream", query);
    await patience.next(new TypeError("network error: the connection broke"), this.#connection.signal);
    // A client that has nothing of a message that it began anew needs its earlier parts, too.
    const url = this.#place === null && resumed !== null ? resumed.url : rest;
    if (!(await this.open(url, await requests.init("GET", options)))) throw new Changed();
  }

  async #abort(): Promise<void> {
    const { resumed, stop, options } = this.#parts;
    // Another reconnect replaces this one in the same turn of the event loop: its user has not stopped anything.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const isReplaced = resumed !== null && !resumed.isLatest();
    // A message that is on its way is not called back: its run is stopped when it is known.
    if (this.#response === null && resumed === null) return;
    this.#connection.abort();
    if (this.#run === null || isReplaced || options.abortSignal?.aborted !== true) return;
    const run = this.#run;
    this.#run = null;
    await stop(run).catch(() => {});
  }
}

/** The answer must be loaded from its beginning, which the client does with `resumeStream`. It takes a `TypeError` about the network as a lost connection. */
class Changed extends TypeError {
  constructor() {
    super("network error: the answer has changed. Call resumeStream() to load it from its beginning.");
    this.name = "TypeError";
  }
}

/** `crypto.randomUUID` is missing on pages without TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function afterPlace(place: string | null): string {
  const [attempt, index] = (place ?? "").split(".");
  return index === undefined ? "0" : `${attempt}.${Number(index) + 1}`;
}

/** Rejects when the signal aborts. */
function abortOf(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) reject(aborted());
    signal?.addEventListener("abort", () => reject(aborted()), { once: true });
  });
}
