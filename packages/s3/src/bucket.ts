/**
 * A bucket of an S3-compatible store, over `fetch`. Status codes have these meanings:
 *
 * 412        there is an object already. It may be one's own: the storage reads it to find out.
 * 409        two writes met and neither was decided: ask again.
 * 408, 429, 5xx, no answer, 200 without an ETag        not known: ask again. A connection that broke is tried again
 *            in request.ts first.
 * 403, 404 for the bucket, 301, 501, anything else     final, with what the store said.
 */

import { DurableError, type ErrorCode } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Bucket, BucketPage, BucketQuery } from "@durable/core/remote";
import type { S3Options } from "./options.ts";
import { Requests, type Asked, type Reply } from "./request.ts";

const deletesAtOnce = 6;

/** A bucket in an S3-compatible store: `new RemoteStorage(s3Bucket({ ... }))`. */
export function s3Bucket(options: S3Options): Bucket {
  assertOptions(
    options,
    "bucket region endpoint prefix timeout fetch accessKeyId secretAccessKey sessionToken",
    "s3Bucket",
  );
  return new S3Bucket(options);
}

class S3Bucket implements Bucket {
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #requests: Requests;

  constructor(options: S3Options) {
    this.#bucket = options.bucket;
    this.#prefix = options.prefix ?? "";
    this.#requests = new Requests(options);
  }

  async get(key: string): Promise<string | null> {
    const reply = await this.#ask({ method: "GET", key });
    if (reply.status === 200) return reply.text;
    if (reply.status === 404 && !reply.text.includes("NoSuchBucket")) return null;
    throw this.#refusal("read", key, reply);
  }

  /** False may mean the object of this very call: its first reply may have been lost with the connection. */
  async create(key: string, text: string): Promise<boolean> {
    const reply = await this.#ask({ method: "PUT", key, text, headers: { "if-none-match": "*" } });
    if (reply.status === 412) return false;
    this.#assertWritten(key, reply);
    return true;
  }

  async put(key: string, text: string): Promise<void> {
    this.#assertWritten(key, await this.#ask({ method: "PUT", key, text }));
  }

  /** Some stores start the reply before they know the result, and put the error into the body of a 200. */
  #assertWritten(key: string, reply: Reply): void {
    if (reply.status !== 200) throw this.#refusal("written", key, reply);
    if (reply.etag === null || reply.text.includes("<Error>"))
      throw new DurableError("storage-busy", `The store did not confirm the write of ${key}.`);
  }

  async list({ prefix, after = "", limit }: BucketQuery): Promise<BucketPage> {
    const query: Record<string, string> = {
      "list-type": "2",
      "encoding-type": "url",
      prefix: this.#prefix + prefix,
    };
    if (after !== "") query["start-after"] = this.#prefix + after;
    if (limit !== undefined) query["max-keys"] = String(Math.min(limit, 1_000));
    for (;;) {
      const reply = await this.#ask({ method: "GET", query });
      if (reply.status !== 200) throw this.#refusal("listed", prefix, reply);
      const keys = allOf(reply.text, "Key").map((key) => decode(key).slice(this.#prefix.length));
      const more = allOf(reply.text, "IsTruncated")[0] === "true";
      const [next] = allOf(reply.text, "NextContinuationToken");
      if (keys.length > 0 || !more || next === undefined) return { keys, more: more && keys.length > 0 };
      // A page that contained only deleted keys.
      query["continuation-token"] = unescaped(next);
    }
  }

  /** One by one, because deleting many with one request needs a checksum that stores do not agree on. */
  async delete(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += deletesAtOnce) {
      const some = keys.slice(from, from + deletesAtOnce);
      await Promise.all(some.map((key) => this.#delete(key)));
    }
  }

  async #delete(key: string): Promise<void> {
    const reply = await this.#ask({ method: "DELETE", key });
    const done = reply.status === 200 || reply.status === 204 || reply.status === 404;
    if (!done || reply.text.includes("NoSuchBucket")) throw this.#refusal("deleted", key, reply);
  }

  async #ask(asked: Asked): Promise<Reply> {
    const { key } = asked;
    if (key === undefined) return this.#requests.ask(asked);
    assertKey(key, this.#prefix + key);
    return this.#requests.ask({ ...asked, key: this.#prefix + key });
  }

  #refusal(what: string, key: string, { status, text }: Reply): DurableError {
    const [code = ""] = allOf(text, "Code");
    const [message = ""] = allOf(text, "Message");
    const said = [status, code, message].filter((part) => part !== "").join(" ");
    return new DurableError(
      codeOf(status, code),
      `${key} in bucket ${this.#bucket} could not be ${what}: the store replied ${this.#requests.hush(said)}.`,
      { details: { status, code } },
    );
  }
}

/** A URL is normalized before it is sent: dot segments would lead to another key, or to another bucket. */
function assertKey(key: string, whole: string): void {
  const dots = whole.split("/").some((name) => name === "." || name === "..");
  if (!dots && !key.split("/").includes("")) return;
  throw new DurableError(
    "invalid-name",
    `${JSON.stringify(whole.slice(0, 200))} is not a valid key of a bucket. Use names separated by "/", none of them empty, "." or "..".`,
  );
}

function codeOf(status: number, said: string): ErrorCode {
  // A wrong name, a wrong region, or an unsupported operation does not change with time.
  if (said === "NoSuchBucket" || status === 301 || status === 501) return "no-storage";
  if (status === 507) return "storage-full";
  if (status === 409 || status === 408 || status === 429 || status >= 500) return "storage-busy";
  return status === 401 || status === 403 ? "storage-readonly" : "storage-failed";
}

/** The contents of all elements of this name, which contain no other elements. */
function allOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text = ""]) => text);
}

function unescaped(text: string): string {
  const entities = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'" } as const;
  return text.replaceAll(/&(?:amp|lt|gt|quot|apos);/g, (entity) => entities[entity as keyof typeof entities]);
}

/** Keys are URL-encoded. */
function decode(key: string): string {
  return decodeURIComponent(unescaped(key).replaceAll("+", " "));
}
