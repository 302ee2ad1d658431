/**
 * `fetch` whose responses are recorded: for the client of any provider, and for code without one.
 *
 * fetch.1. A request is named by what it asks: method, address and body, without headers, because they hold keys and differ in every
 *     process. So requests at the same time find their own records, in any order.
 * fetch.2. Nothing of the request is recorded but a fingerprint; of the response status, headers without cookies, and body.
 * fetch.3. The caller gets its response with the first piece of the body; a failure before is retried unnoticed. A failure that
 *     no retry helps, such as a 401, is a response like any other.
 * fetch.4. The body is read to its end, and its end is held back until everything is durable.
 */

import type { StepInfo } from "../engine/calls/info.ts";
import { nextAttemptAt, retryPolicy, type RetryOptions } from "../engine/calls/retry.ts";
import type { Context } from "../engine/context.ts";
import { currentContext, currentStep } from "../engine/create-context.ts";
import type { StepQuota } from "../engine/definition.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import { assertOptions } from "../values/options.ts";
import { askedByContent } from "./changes.ts";
import { endsAnswer, piecesOf, type Piece } from "./body.ts";
import { liveStream } from "./live.ts";
import { placed } from "./place.ts";
import { clientRetry } from "./retry.ts";

/** Options of `durableFetch`. */
export interface FetchOptions {
  /** When a request is repeated; `clientRetry` by default. */
  readonly retry?: RetryOptions | false | undefined;
  /** The quota of the service, by its name in `quotas` of the app. */
  readonly quota?: StepQuota | undefined;
  /** For what the requests are, in sums of usage; method and address by default. */
  readonly label?: string | undefined;
  /**
   * What happens when the code asks something else than what is recorded, because it was changed while the run was under way. `block`
   * (the default) stops the run before anything is sent; `ask` sends the request.
   */
  readonly onChange?: "block" | "ask" | undefined;
  /** What sends the requests; the `fetch` of the platform by default. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const known = "retry quota label onChange fetch";

/** The first recorded chunk: all of a response but its body. */
interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly url: string;
}

/** Left out: secrets, and what is about the bytes on the wire. */
const unrecorded: ReadonlySet<string> = new Set([
  "set-cookie",
  "connection",
  "content-encoding",
  "content-length",
  "transfer-encoding",
]);

/**
 * A `fetch` for the client of a provider. Each request is a stream of the run: sent once, its events passed on as they come, and
 * replayed without a request. Without a context a request belongs to the run in which it is made; in the work of a step, whose result is
 * recorded, and outside of runs it is sent as usual. Set `maxRetries: 0` on the client.
 * @example const client = new OpenAI({ fetch: durableFetch(), maxRetries: 0 });
 */
export function durableFetch(ctx: Context, options?: FetchOptions): typeof globalThis.fetch;
export function durableFetch(options?: FetchOptions): typeof globalThis.fetch;
export function durableFetch(...args: readonly unknown[]): typeof globalThis.fetch {
  const { ctx, rest } = placed(args);
  const [options = {}] = rest as readonly [FetchOptions?];
  assertOptions(options, known, "durableFetch");
  const { fetch: own } = options;
  const send = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> =>
    (own ?? globalThis.fetch)(input, init);
  return async (input, init) => {
    const on = ctx ?? currentContext();
    if (on !== undefined) return recorded(on, new Asked(input, init), { ...options, send });
    const info = currentStep();
    const response = await send(input, init);
    if (info === undefined || response.body === null) return response;
    return responseOf(headOf(response), piecesOf(response, info));
  };
}

/** What identifies a request. */
class Asked {
  readonly input: RequestInfo | URL;
  readonly init: RequestInit | undefined;
  /** Method, host and path, as a part of a name. */
  readonly what: string;
  readonly where: string;
  readonly name: string;

  constructor(input: RequestInfo | URL, init: RequestInit | undefined) {
    this.input = input;
    this.init = init;
    const request = typeof input === "object" && !(input instanceof URL) ? input : undefined;
    const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    const url = new URL(request?.url ?? (input as string | URL));
    for (const key of keys) url.searchParams.delete(key);
    this.where = `${method} ${url.host}${url.pathname}`;
    this.what = this.where
      .replaceAll(/[#/[\]\s\p{Cc}\p{Cs}]+/gu, " ")
      .slice(0, 90)
      .trimEnd();
    const asked = [method, url.origin + url.pathname, url.search, contentOf(init?.body)];
    this.name = `${this.what} ${fingerprint(asked, `request ${this.where}`)}`;
  }

  /** How many attempts a client made before this one, where it says so. */
  get ownRetries(): number {
    return Number(new Headers(this.init?.headers).get("x-stainless-retry-count") ?? 0);
  }
}

/** Parameters of addresses that hold keys. */
const keys: readonly string[] = ["key", "api_key", "api-key", "apikey", "access_token"];

/** A body as far as it can be read at once. A stream, which can be read once, does not count. */
function contentOf(body: unknown): unknown {
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (!(body instanceof FormData)) return null;
  return [...body].map(([name, value]) => [
    name,
    typeof value === "string" ? value : [value.name, value.type, value.size],
  ]);
}

interface Sending extends FetchOptions {
  readonly send: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
}

async function recorded(ctx: Context, asked: Asked, options: Sending): Promise<Response> {
  const { retry = clientRetry, quota, label = asked.where, onChange = "block" } = options;
  const policy = retryPolicy(retry, `The request ${asked.where} of run ${ctx.runId}`);
  if (asked.ownRetries > 0)
    ctx.log.warn(
      `A client repeated ${asked.where} by itself, after the attempts of run ${ctx.runId}. Set maxRetries: 0 on it, because its attempts multiply.`,
    );
  const producer = async function* (info: StepInfo): AsyncGenerator<Head | Piece> {
    const signals = [info.signal, asked.init?.signal].filter((one) => one instanceof AbortSignal);
    const response = await options.send(asked.input, { ...asked.init, signal: AbortSignal.any(signals) });
    if (!response.ok) {
      const error = new Refused(response, asked.where);
      const world = { now: Date.now(), random: Math.random() };
      const at = nextAttemptAt(policy, { error, attempt: info.attempt }, world);
      if (at !== null) {
        await response.body?.cancel();
        throw error;
      }
    }
    yield headOf(response);
    yield* piecesOf(response, info);
  };
  let ended = false;
  const isPiece = (chunk: Head | Piece): chunk is Piece => typeof chunk === "string" || "length" in chunk;
  const given = {
    retry,
    quota,
    label,
    isWord: isPiece,
    // What comes after the first event of the end belongs to it.
    isEnd: (chunk: Head | Piece) => (ended ||= isPiece(chunk) && endsAnswer(chunk)),
    byContent: askedByContent(ctx, {
      what: asked.what,
      name: asked.name,
      sort: "request",
      onChange,
      by: "durableFetch",
    }),
  };
  const chunks = liveStream(ctx, asked.name, producer, given)[Symbol.asyncIterator]();
  const first = await chunks.next();
  return responseOf(first.value as Head, { [Symbol.asyncIterator]: () => chunks } as AsyncIterable<Piece>);
}

/** A response that a later attempt may better. */
class Refused extends Error {
  override readonly name = "ResponseError";
  readonly status: number;
  /** For the delay that it asks for. Not recorded. */
  readonly headers: Headers;

  constructor({ status, headers }: Response, where: string) {
    super(`${where} answered with status ${status}.`);
    this.status = status;
    this.headers = headers;
  }
}

function headOf({ status, statusText, headers, url }: Response): Head {
  const kept = [...headers].filter(([name]) => !unrecorded.has(name));
  return { status, statusText, headers: kept, url };
}

/** Statuses whose responses have no body. */
const empty: ReadonlySet<number> = new Set([101, 204, 205, 304]);

function responseOf({ status, statusText, headers, url }: Head, pieces: AsyncIterable<Piece>): Response {
  const source = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = await source.next();
        if (next.done === true) controller.close();
        else controller.enqueue(typeof next.value === "string" ? encoder.encode(next.value) : next.value);
      },
      cancel: async () => void (await source.return?.()),
    },
    { highWaterMark: 0 },
  );
  const init = {
    status,
    statusText,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  };
  const response = new Response(empty.has(status) ? null : body, init);
  Object.defineProperty(response, "url", { value: url });
  return response;
}
