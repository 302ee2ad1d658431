/**
 * Downloads of the SDK, which happen before the call of a model: bytes that changed would make it another call.
 *
 * W1. A URL is downloaded once per `durableDownload`, and its bytes are recorded.
 * W2. Names and errors have no URL query, because it may contain a key.
 *
 * Proven in test/download.test.ts.
 */

import { DurableError, type RetryOptions } from "@durable/core";
import { stepName } from "@durable/core/clients";
import { assertOptions, fingerprint } from "@durable/core/storage";
import { final, keptError, restoredError } from "./errors.ts";
import { recorderOf } from "./recorder.ts";
import type { Place } from "./place.ts";

/** Downloads one URL: `createDownload()` of the AI SDK 6 and 7, or a function of your own. */
export type Download = (request: {
  readonly url: URL;
  readonly abortSignal: AbortSignal;
}) => PromiseLike<Downloaded>;

/** Bytes, and the media type that the server gives. */
export interface Downloaded {
  data: Uint8Array;
  mediaType: string | undefined;
}

/** Options of `durableDownload`. */
export interface DownloadOptions {
  /** A larger download fails with `too-large`; 30 MiB by default. */
  readonly maxBytes?: number | undefined;
  /** When a failed download is repeated. Refusals, such as 404, are not. */
  readonly retry?: RetryOptions | false | undefined;
}

/** For `experimental_download` of generateText and streamText, and for `download` of transcribe. */
export interface DurableDownload {
  (
    requests: readonly { readonly url: URL; readonly isUrlSupportedByModel: boolean }[],
  ): Promise<(Downloaded | null)[]>;
  (request: { readonly url: URL }): Promise<Downloaded>;
}

/** The largest default that fits into one value of a journal. */
const defaultBytes = 30 * 1024 * 1024;

/** The same download, recorded: on replay the bytes come from the journal. */
export function durableDownload(
  on: Place,
  download: Download,
  options: DownloadOptions = {},
): DurableDownload {
  assertOptions(options, "maxBytes retry", "durableDownload");
  const { maxBytes = defaultBytes, retry } = options;
  const recorder = recorderOf(on);
  // The SDK downloads the same URLs again in every turn.
  const known = new Map<string, Promise<Downloaded>>();
  const fetched = async (url: URL): Promise<Downloaded> => {
    const name = stepName("download", url.host, fingerprint(url.href, "address of a download"));
    const work = async ({ signal }: { readonly signal: AbortSignal }): Promise<Downloaded> => {
      const { data, mediaType } = await download({ url, abortSignal: signal }).then(undefined, (error) => {
        throw failure(error, url);
      });
      if (data.byteLength > maxBytes) throw tooLarge(url, data.byteLength, maxBytes);
      return { data, mediaType };
    };
    try {
      return await recorder.step(name, work, { retry, signal: undefined });
    } catch (error) {
      known.delete(url.href);
      throw restoredError(error);
    }
  };
  const once = (url: URL): Promise<Downloaded> => {
    const promise = known.get(url.href) ?? fetched(url);
    known.set(url.href, promise);
    return promise;
  };
  const all = (requests: Requests): unknown =>
    Array.isArray(requests)
      ? Promise.all(requests.map(async (one) => (one.isUrlSupportedByModel === true ? null : once(one.url))))
      : once((requests as Request).url);
  return all as DurableDownload;
}

interface Request {
  readonly url: URL;
  readonly isUrlSupportedByModel?: boolean;
}
type Requests = Request | readonly Request[];

function tooLarge(url: URL, bytes: number, most: number): DurableError {
  return new DurableError(
    "too-large",
    `The download of ${shown(url)} has ${bytes} bytes; the limit is ${most}. Raise maxBytes of durableDownload, or pass the model an address that it can read itself.`,
  );
}

/** What may be recorded of an error. One that retrying cannot fix is final. */
function failure(thrown: unknown, url: URL): unknown {
  const kept = keptError(thrown);
  if (!(kept instanceof Error)) return kept;
  kept.message = kept.message.replaceAll(url.href, shown(url));
  const { statusCode } = kept as { readonly statusCode?: unknown };
  const refused =
    typeof statusCode === "number" && statusCode < 500 && statusCode !== 408 && statusCode !== 429;
  // An address that the SDK refuses, without asking a server.
  const forbidden = statusCode === undefined && kept.cause === undefined && kept.name === "AI_DownloadError";
  return refused || forbidden ? final(kept) : kept;
}

function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
