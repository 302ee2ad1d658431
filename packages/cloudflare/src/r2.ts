/** A bucket on an R2 binding: requests stay in the Worker's network, and nothing needs to be signed. */

import { DurableError } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Bucket, BucketPage, BucketQuery } from "@durable/core/remote";

/** The part of an R2 binding that is used. */
export interface R2Binding {
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
  put(key: string, value: Uint8Array, options?: { readonly onlyIf?: Headers }): Promise<unknown>;
  list(options: {
    readonly prefix: string;
    readonly startAfter?: string;
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<{
    readonly objects: readonly { readonly key: string }[];
    readonly truncated: boolean;
    readonly cursor?: string;
  }>;
  delete(keys: string[]): Promise<void>;
}

/** Options of `r2Bucket`. */
export interface R2Options {
  /** Put before every key, so that several deployments can share a bucket: `orders/`. */
  readonly prefix?: string | undefined;
}

const utf8 = new TextEncoder();
/** A byte order mark is part of the text. */
const fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const mostKeys = 1_000;

/** A bucket in R2: `new RemoteStorage(r2Bucket(env.JOURNAL))`. */
export function r2Bucket(binding: R2Binding, options: R2Options = {}): Bucket {
  assertOptions(options, "prefix", "r2Bucket");
  const { prefix: before = "" } = options;
  return {
    get: (key) =>
      asked(async () => {
        const object = await binding.get(before + key);
        return object === null ? null : fromUtf8.decode(await object.arrayBuffer());
      }),

    create: (key, text) =>
      asked(async () => {
        // As a header, because older runtimes took the star in an object for an ETag.
        const onlyIf = new Headers({ "if-none-match": "*" });
        return (await binding.put(before + key, utf8.encode(text), { onlyIf })) !== null;
      }),

    put: (key, text) => asked(async () => void (await binding.put(before + key, utf8.encode(text)))),

    list: ({ prefix, after, limit = mostKeys }) =>
      asked(() => listKeys(binding, before, { prefix, limit, ...(after ? { after } : {}) })),

    delete: (keys) =>
      asked(async () => {
        for (let from = 0; from < keys.length; from += mostKeys)
          await binding.delete(keys.slice(from, from + mostKeys).map((key) => before + key));
      }),
  };
}

/** Within one invocation, a request beyond the limit of the plan fails however often it is repeated. */
async function asked<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (!/too many subrequests/i.test(String(cause))) throw cause;
    throw new DurableError(
      "storage-closed",
      "Too many subrequests: this invocation of the Worker has made all requests that its plan allows. Pass a smaller createBudget({ operations }), or do less in one invocation.",
      { cause },
    );
  }
}

async function listKeys(
  binding: R2Binding,
  before: string,
  { prefix, after, limit = mostKeys }: BucketQuery,
): Promise<BucketPage> {
  let cursor: string | undefined;
  for (;;) {
    const page = await binding.list({
      prefix: before + prefix,
      limit: Math.min(limit, mostKeys),
      ...(after === undefined ? {} : { startAfter: before + after }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const keys = page.objects.map(({ key }) => key.slice(before.length));
    ({ cursor } = page);
    // A page may be empty without being the last.
    if (keys.length > 0 || !page.truncated || cursor === undefined)
      return { keys, more: page.truncated && keys.length > 0 };
  }
}
