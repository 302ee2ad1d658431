/**
 * Requests to one bucket, each sent again when its connection breaks.
 *
 * Q1. Every operation of a bucket may be sent twice with the same bytes: reads, lists, deletes and puts leave the same
 *     behind, and a conditional write that finds its own object is answered as if it were another's. The storage
 *     distinguishes them by the id in the record.
 * Q2. A request that does not get through in a few attempts is `storage-busy`: its outcome is unknown, and the caller
 *     may ask again. A time-out is not repeated here, because it took long already.
 */

import { DurableError } from "@durable/core";
import { systemWorld, toMs } from "@durable/core/storage";
import type { S3Options } from "./options.ts";
import { encode, Signer } from "./sign.ts";

export interface Asked {
  readonly method: "GET" | "PUT" | "DELETE";
  /** With the prefix; without a key, the bucket itself is asked. */
  readonly key?: string;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly etag: string | null;
  readonly text: string;
}

const utf8 = new TextEncoder();
/** A byte order mark is part of the text. */
const fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

const mostAttempts = 3;
const firstWaitMs = 50;
const deepestCause = 16;

export class Requests {
  readonly #options: S3Options;
  readonly #base: string;
  readonly #host: string;
  readonly #signer: Signer;

  constructor(options: S3Options) {
    const { region = "us-east-1", bucket } = options;
    const endpoint = options.endpoint ?? `https://s3.${region}.amazonaws.com`;
    this.#options = options;
    this.#host = hostOf(endpoint);
    this.#base = `${withoutSlashes(endpoint)}/${encode(bucketName(bucket))}`;
    this.#signer = new Signer(options, { region, service: "s3" });
  }

  /** Without the credentials: a store, a proxy or a `fetch` of the caller may repeat what it was sent. */
  hush(text: string): string {
    const { accessKeyId, secretAccessKey, sessionToken } = this.#options;
    let hushed = text;
    for (const hidden of [secretAccessKey, sessionToken, accessKeyId])
      if (hidden) hushed = hushed.replaceAll(hidden, "[hidden]");
    return hushed;
  }

  async ask(asked: Asked): Promise<Reply> {
    const { fetch: send = fetch, timeout = 30_000 } = this.#options;
    const timeoutMs = toMs(timeout, "timeout of s3Bucket");
    for (let attempt = 1; ; attempt++) {
      // Anew for each attempt: a signature has a time in it.
      const { url, init } = await this.#sign(asked);
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const response = await send(url, { ...init, signal });
        // The connection may also break in the middle of the body.
        const text = fromUtf8.decode(await response.arrayBuffer());
        return { status: response.status, etag: response.headers.get("etag"), text };
      } catch (error) {
        if (DurableError.is(error)) throw error;
        if (signal.aborted)
          throw this.#unanswered(
            asked,
            `${this.#host} did not answer within ${timeoutMs} ms`,
            error,
            attempt,
          );
        if (attempt >= mostAttempts) {
          const what = `the connection to ${this.#host} failed ${attempt} times (${this.hush(describeCause(error))})`;
          throw this.#unanswered(asked, what, error, attempt);
        }
      }
      await wait(firstWaitMs * 2 ** (attempt - 1) * (0.5 + systemWorld.random() / 2));
    }
  }

  async #sign({ method, key, text, headers = {}, query = {} }: Asked): Promise<{
    readonly url: string;
    readonly init: RequestInit;
  }> {
    const path = key === undefined ? "" : `/${key.split("/").map(encode).join("/")}`;
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    // As it was signed: a space is %20 there, and would be a plus here.
    url.search = url.search.replaceAll("+", "%20");
    // Bytes, so that fetch adds no content type, which would not be signed.
    const body = utf8.encode(text ?? "");
    const signed = await this.#signer.sign({ method, url, headers, body }, new Date());
    return {
      url: String(url),
      init: {
        method,
        headers: signed,
        ...(text === undefined ? {} : { body }),
        // A redirect would take the signature to another server.
        redirect: "manual",
      },
    };
  }

  #repeatsCredentials(cause: unknown): boolean {
    const texts: string[] = [];
    let at = cause;
    // The chain may be a ring.
    for (let depth = 0; depth < deepestCause && at instanceof Error; depth++, at = at.cause) {
      texts.push(at.message, at.stack ?? "");
      for (const value of Object.values(at)) if (typeof value === "string") texts.push(value);
    }
    return texts.some((text) => this.hush(text) !== text);
  }

  #unanswered({ method, key, query }: Asked, what: string, cause: unknown, attempts: number): DurableError {
    const [verb, done] = wordsOf[method];
    const asked = key === undefined ? `list ${query?.["prefix"] ?? ""}` : `${verb} ${key}`;
    const doubt = done === "" ? "" : ` The object may have been ${done}.`;
    return new DurableError(
      "storage-busy",
      `Could not ${asked.trim()} in bucket ${this.#options.bucket}: ${what}.${doubt} Try again later. If this persists, check the endpoint and the network.`,
      // An uncaught error is printed with its causes.
      { ...(this.#repeatsCredentials(cause) ? {} : { cause }), details: { attempts } },
    );
  }
}

/** What a request does, and what may have happened when no answer came. */
const wordsOf = { GET: ["read", ""], PUT: ["write", "written"], DELETE: ["delete", "deleted"] } as const;

/** A URL is normalized, so a dot segment in a name would lead to another bucket. */
function bucketName(name: unknown): string {
  if (typeof name === "string" && !["", ".", ".."].includes(name) && !name.includes("/")) return name;
  throw new DurableError(
    "invalid-options",
    "The bucket of s3Bucket is not the name of a bucket. Use the name alone, without the address.",
  );
}

/** Not a regular expression, which would take a time that grows with the square of the slashes. */
function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}

/**
 * Host and port of an endpoint. With a password in it, `fetch` would refuse it, and repeat it in its message.
 * Some stores hand out URLs with a key in the query, which would end up in the middle of the address.
 */
function hostOf(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  const web = url?.protocol === "http:" || url?.protocol === "https:";
  if (url !== null && web && /[?#]/.test(endpoint))
    throw new DurableError(
      "invalid-options",
      `The endpoint of s3Bucket has a query or a fragment in its URL (host ${url.host}). Use the address alone, such as https://s3.example.com:9000.`,
    );
  if (url !== null && web && url.username === "" && url.password === "") return url.host;
  throw new DurableError(
    "invalid-options",
    url !== null && web
      ? `The endpoint of s3Bucket has credentials in its URL (host ${url.host}). Pass them as accessKeyId and secretAccessKey.`
      : "The endpoint of s3Bucket is not a URL that begins with http:// or https://. Use a form such as https://s3.example.com:9000, without the bucket.",
  );
}

/** `fetch` only says that it failed; the reason is in its cause, or in a code. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return `${error.name}: ${error.message}`;
  const { code } = cause as { readonly code?: string };
  return `${error.name}: ${error.message}: ${cause.message || (code ?? cause.name)}`;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void systemWorld.timer(ms, resolve));
}
