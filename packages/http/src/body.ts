/**
 * Reads request bodies within limits.
 *
 * L1. Bytes and time are counted while reading, so that a body over a limit is refused before the rest is
 *     read.
 * L2. The media type decides how bytes are parsed; it is compared whole and never guessed from the content.
 */

import { HttpError } from "./errors.ts";
import { type GivenLimits, type Limits, limitsOf } from "./limits.ts";
import { scanJson } from "./json-scan.ts";

export const jsonType = "application/json";
export const formType = "application/x-www-form-urlencoded";

/** The media type without parameters, in lower case; "" when there is none. */
export function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Refuses all other media types. */
export function assertType(request: Request, types: readonly string[]): string {
  const found = mediaType(request);
  if (types.includes(found)) return found;
  throw new HttpError("unsupported-type", `Send the body as ${types.join(" or ")}.`, {
    details: { types },
    headers: { accept: types.join(", ") },
  });
}

/**
 * Reads a body as JSON, within the limits. Its type must be `application/json`, and an empty body is refused.
 */
export async function readJson(request: Request, given?: GivenLimits): Promise<unknown> {
  const limits = limitsOf(given);
  assertType(request, [jsonType]);
  return parseJson(await readBytes(request, limits), limits);
}

/** Reads a body as a form, within the limits. Its type must be `application/x-www-form-urlencoded`. */
export async function readForm(request: Request, given?: GivenLimits): Promise<URLSearchParams> {
  const limits = limitsOf(given);
  assertType(request, [formType]);
  return parseForm(await readBytes(request, limits), limits);
}

export function parseJson(bytes: Uint8Array, limits: Limits): unknown {
  scanJson(bytes, limits);
  const text = textOf(bytes, "invalid-json");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the body, which may contain secrets.
    throw new HttpError("invalid-json", "The body is not JSON.");
  }
}

export function parseForm(bytes: Uint8Array, limits: Limits): URLSearchParams {
  let fields = 1;
  for (const byte of bytes) {
    if (byte === 0x26) fields += 1;
    if (fields > limits.keys)
      throw new HttpError("too-many-keys", `The form has more than ${limits.keys} fields.`, {
        details: { limit: limits.keys },
      });
  }
  return new URLSearchParams(textOf(bytes, "invalid-body"));
}

function textOf(bytes: Uint8Array, code: "invalid-json" | "invalid-body"): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError(code, "The body is not UTF-8.");
  }
}

/** The raw bytes of a body. */
export async function readBytes(request: Request, limits: Limits): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    throw new HttpError("unsupported-encoding", "Send the body as it is, without a content-encoding.", {
      headers: { "accept-encoding": "identity" },
    });
  }
  if (Number(request.headers.get("content-length") ?? 0) > limits.bytes) throw tooLarge(limits);
  if (request.bodyUsed) {
    throw new HttpError(
      "body-used",
      "The body was read before this handler got the request. Mount the handler before any body parser.",
    );
  }
  return request.body === null ? new Uint8Array() : readAll(request.body.getReader(), limits);
}

/** Reads into one growing block, so that a body of many small chunks takes no more memory than any other. */
async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: Limits,
): Promise<Uint8Array<ArrayBuffer>> {
  let block = new Uint8Array(4_096);
  let length = 0;
  let late = false;
  // Not awaited, because the sender may not react. A pending read ends with it.
  const stop = (): void => void reader.cancel().catch(() => {});
  const timer = setTimeout(() => {
    late = true;
    stop();
  }, limits.bodyTimeout);
  try {
    for (;;) {
      const { done, value } = await read(reader);
      if (late) throw tooSlow(limits);
      if (done) return block.slice(0, length);
      if (length + value.byteLength > limits.bytes) throw tooLarge(limits);
      if (length + value.byteLength > block.length) block = grown(block, length + value.byteLength);
      block.set(value, length);
      length += value.byteLength;
    }
  } catch (error) {
    stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new HttpError("incomplete-body", "The body ended before it was complete.", { cause });
  }
}

function grown(block: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(length, block.length * 2));
  larger.set(block);
  return larger;
}

function tooSlow({ bodyTimeout }: Limits): HttpError {
  return new HttpError("body-too-slow", `The body took longer than ${bodyTimeout} ms to arrive.`, {
    details: { limit: bodyTimeout },
  });
}

function tooLarge({ bytes }: Limits): HttpError {
  return new HttpError("body-too-large", `The body has more than ${bytes} bytes.`, {
    details: { limit: bytes },
  });
}
