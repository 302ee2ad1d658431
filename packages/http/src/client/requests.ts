/**
 * Requests to a handler, in a page or elsewhere. It imports nothing.
 *
 * client.1. A request is sent again only if the server does its work once, however often it comes: reads, and what has an
 *     id that this client chose.
 * client.2. An answer of another status than 2xx is an error with the code of the server. Its text never counts as a value.
 */

import type { ErrorCode } from "@durable/core";
import type { HttpErrorCode } from "../errors.ts";

/** What `new Headers` takes: its name in the DOM is not known to the types of Node. */
type HeaderInit = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** Options of `createClient`. */
export interface ClientOptions {
  /** Where the handler is mounted, such as `https://example.com/api`, or `/api` in a page. */
  readonly url: string | URL;
  /** Headers of each request, or a function that makes them, for instance with a token that expires. */
  readonly headers?: HeaderInit | (() => HeaderInit | Promise<HeaderInit>) | undefined;
  /** Sends the requests; the `fetch` of the platform by default. */
  readonly fetch?: typeof fetch | undefined;
  /** For how many milliseconds a request is repeated while the server cannot be reached, or is busy; 30,000 by default. */
  readonly patienceMs?: number | undefined;
  /** After how many silent milliseconds the connection of a stream is opened again; 45,000 by default. */
  readonly quietMs?: number | undefined;
}

/** The codes of a client: those of the library, those of the handler, and `unreachable`. */
export type ClientErrorCode = ErrorCode | HttpErrorCode | "unreachable";

/** An error of the server, or the news that it was not reached. `DurableError.is` knows it, too. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ClientErrorCode,
    message: string,
    about: { status?: number; details?: Readonly<Record<string, unknown>> | undefined; cause?: unknown } = {},
  ) {
    super(message, "cause" in about ? { cause: about.cause } : undefined);
    // The name that `DurableError.is` compares.
    this.name = "DurableError";
    this.code = code;
    this.status = about.status ?? 0;
    this.details = about.details ?? {};
  }

  /** True for an error of this client, of this code if one is given. */
  static is(error: unknown, code?: ClientErrorCode): error is ClientError {
    return error instanceof ClientError && (code === undefined || error.code === code);
  }
}

/** One request. */
export interface Asked {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Answers besides 2xx that are values. */
  readonly values?: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

const [firstPauseMs, longestPauseMs] = [250, 5_000];
const busy: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends requests, and repeats those that got no answer. */
export class Requests {
  readonly #base: string;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#base = String(options.url).replace(/\/+$/, "");
    this.#options = options;
  }

  get quietMs(): number {
    return this.#options.quietMs ?? 45_000;
  }

  get patience(): Patience {
    return new Patience(this.#options.patienceMs ?? 30_000);
  }

  /** The JSON of an answer. */
  async json<T>(path: string, asked: Asked = {}): Promise<T> {
    const response = await this.send(path, asked);
    const body = await read(response);
    // The same HTTP status may say that there is no such route.
    if (!response.ok && typeof (body as { status?: unknown }).status !== "string")
      throw errorIn(body, response);
    return body as T;
  }

  /** An answer that is a success, or one of `values`. */
  async send(path: string, asked: Asked): Promise<Response> {
    for (const patience = this.patience; ;) {
      const answer = await this.#once(path, asked);
      if (answer instanceof Response) {
        if (answer.ok || asked.values?.includes(answer.status) === true) return answer;
        const error = await errorOf(answer);
        if (!busy.has(answer.status) || !(await patience.wait(asked.signal, retryAfterMs(answer))))
          throw error;
      } else if (!(await patience.wait(asked.signal))) throw answer;
    }
  }

  async #once(
    path: string,
    { method = "GET", body, headers, signal }: Asked,
  ): Promise<Response | ClientError> {
    const given = this.#options.headers;
    const all = new Headers(typeof given === "function" ? await given() : given);
    for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value);
    if (body !== undefined) all.set("content-type", "application/json");
    const send = this.#options.fetch ?? fetch;
    const url = `${this.#base}${path}`;
    try {
      return await send(url, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      return new ClientError("unreachable", `${url} could not be reached.`, { cause });
    }
  }
}

/** How long something is tried again, with growing pauses. */
export class Patience {
  readonly #mostMs: number;
  #since = Date.now();
  #pauseMs = firstPauseMs;

  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  /** Something worked: what follows is new, and the next attempt comes at once. */
  renew(): void {
    this.#since = Date.now();
    this.#pauseMs = 0;
  }

  /** Waits before the next attempt; false when the time for attempts is over. Rejects when the caller gives up. */
  async wait(signal: AbortSignal | undefined, leastMs = 0): Promise<boolean> {
    const ms = Math.max(leastMs, this.#pauseMs * (0.5 + Math.random() / 2));
    if (Date.now() + ms - this.#since > this.#mostMs) return false;
    this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, firstPauseMs), longestPauseMs);
    await pause(ms, signal);
    return true;
  }
}

/** Resolves after a time; rejects with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

async function read(response: Response): Promise<unknown> {
  const { status, url } = response;
  try {
    return await response.json();
  } catch (cause) {
    const message = `The answer of ${url} is not JSON. Check that a handler of @durable/http is mounted there.`;
    throw new ClientError("internal", message, { status, cause });
  }
}

async function errorOf(response: Response): Promise<ClientError> {
  return errorIn(await response.json().catch(() => null), response);
}

function errorIn(body: unknown, { status, url }: Response): ClientError {
  const { code, message, details } = ((body as { error?: unknown } | null)?.error ??
    {}) as Partial<ClientError>;
  if (typeof code !== "string" || typeof message !== "string")
    return new ClientError(
      status === 404 ? "no-route" : "internal",
      `${url} answered with ${status}, and not as a handler of @durable/http does. Check the url of the client.`,
      { status },
    );
  return new ClientError(code, message, { status, details });
}

/** `Retry-After`, in seconds or as a date. */
function retryAfterMs({ headers }: Response): number {
  const text = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const time = Date.parse(text);
  return Number.isNaN(time) ? 0 : Math.max(0, time - Date.now());
}
