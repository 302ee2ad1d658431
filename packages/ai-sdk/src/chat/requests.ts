/** The requests of the transport: its routes, its headers, and its patience. Proven in test/chat-transport.test.ts. */

/** A value, or a function that gives it for each request. */
export type Given<T> = T | (() => T | PromiseLike<T>);

/** Options of `durableChatTransport`. */
export interface ChatTransportOptions {
  /** The path of the chat; `/api/chat` by default. */
  readonly api?: string | undefined;
  /** Headers of all requests. */
  readonly headers?: Given<Record<string, string> | Headers> | undefined;
  /** More fields for the body of messages. */
  readonly body?: Given<object> | undefined;
  /** `last` sends the last message alone, and the server knows what was before it; `all` by default. */
  readonly sends?: "all" | "last" | undefined;
  readonly credentials?: Given<"include" | "omit" | "same-origin"> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * How often a request is tried again without any success in between, and the delays between the tries, which double
   * from `firstMs` to `mostMs`. By default 40 times, from 200 ms to 5 seconds, which is about 3 minutes.
   */
  readonly retry?:
    | { readonly times?: number; readonly firstMs?: number; readonly mostMs?: number }
    | undefined;
  /** After this time without a sign of the server a connection is considered lost; 30 seconds by default. */
  readonly quietMs?: number | undefined;
  /**
   * `stop()` of the client stops the run. With false it only stops reading, as the SDK's own transport does. True by
   * default.
   */
  readonly stopOnAbort?: boolean | undefined;
}

/** What a client of the SDK passes with a request. */
export interface ChatRequestOptions {
  readonly chatId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Record<string, string> | Headers | undefined;
  readonly body?: object | undefined;
  readonly metadata?: unknown;
}

/** Counts tries since the last success. */
export class Patience {
  readonly #most: number;
  readonly #firstMs: number;
  readonly #mostMs: number;
  #tries = 0;

  constructor({
    times = 40,
    firstMs = 200,
    mostMs = 5_000,
  }: NonNullable<ChatTransportOptions["retry"]> = {}) {
    this.#most = times;
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  succeeded(): void {
    this.#tries = 0;
  }

  /** Waits before the next try; throws `error` when there is none. */
  async next(error: unknown, signal: AbortSignal): Promise<void> {
    if (this.#tries >= this.#most) throw error;
    const most = Math.min(this.#firstMs * 2 ** this.#tries, this.#mostMs);
    this.#tries += 1;
    // Many clients lose a server at the same time, and should not come back at the same time.
    await delay(most * (0.5 + Math.random() / 2), signal);
  }
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(aborted());
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** Clients recognize it by its name. */
export function aborted(): Error {
  return new DOMException("The request was aborted.", "AbortError");
}

export class Requests {
  readonly #options: ChatTransportOptions;

  constructor(options: ChatTransportOptions) {
    this.#options = options;
  }

  /** The response to a request, however often it takes. Refusals are thrown. */
  async send(url: string, init: RequestInit, patience: Patience, signal: AbortSignal): Promise<Response> {
    for (;;) {
      let error: unknown;
      try {
        const response = await (this.#options.fetch ?? globalThis.fetch)(url, { ...init, signal });
        if (response.ok) return response;
        error = await refusalOf(response);
        if (!isPassing(response.status, init.method)) throw error;
      } catch (reason) {
        if (signal.aborted) throw aborted();
        if (reason === error) throw reason;
        error = reason;
      }
      await patience.next(error, signal);
    }
  }

  async init(
    method: "GET" | "POST",
    { headers }: Pick<ChatRequestOptions, "headers"> = {},
  ): Promise<RequestInit> {
    const all = new Headers(await given(this.#options.headers));
    new Headers(headers).forEach((value, name) => all.set(name, value));
    const credentials = await given(this.#options.credentials);
    return { method, headers: all, ...(credentials === undefined ? {} : { credentials }) };
  }

  async body(more: object | undefined): Promise<object> {
    return { ...(await given(this.#options.body)), ...more };
  }

  url(chatId: string | null = null, verb = "", query: Readonly<Record<string, string>> = {}): string {
    const { api = "/api/chat" } = this.#options;
    if (chatId === null) return api;
    const search = new URLSearchParams(query).toString();
    const [path = "", own] = api.split("?");
    const tail = [own ?? "", search].filter((one) => one !== "").join("&");
    return `${path.replace(/\/$/, "")}/${encodeURIComponent(chatId)}/${verb}${tail === "" ? "" : `?${tail}`}`;
  }
}

async function given<T>(value: Given<T> | undefined): Promise<T | undefined> {
  return typeof value === "function" ? await (value as () => T | PromiseLike<T>)() : value;
}

/** True for answers of a server, or of what is before it, that may pass. An answer that was begun is worth more tries. */
function isPassing(status: number, method: string | undefined): boolean {
  return status > 500 || (status === 500 && method === "GET") || [408, 425, 429].includes(status);
}

async function refusalOf(response: Response): Promise<Error> {
  const text = await response.text().catch(() => "");
  return new Error(text || `The chat answered with status ${response.status}.`);
}
