/**
 * Errors as responses: `{ error: { code, message, details? } }` with an HTTP status.
 *
 * R1. An error of the library has the status of the table in docs/errors.md; a test keeps the two equal.
 * R2. A server error (5xx) is answered with its code and a general sentence; paths, keys and causes go to
 *     `onError` only.
 * R3. Every response is JSON that browsers do not render and caches do not store.
 */

import { DurableError, type ErrorCode } from "@durable/core";

/** Codes of this package, besides those of `@durable/core`. */
export type HttpErrorCode =
  | "forbidden"
  | "cross-site"
  | "no-route"
  | "method-not-allowed"
  | "invalid-path"
  | "invalid-query"
  | "invalid-body"
  | "invalid-json"
  | "incomplete-body"
  | "body-too-large"
  | "body-too-deep"
  | "body-too-slow"
  | "too-many-keys"
  | "too-many-nodes"
  | "string-too-long"
  | "unsupported-type"
  | "unsupported-encoding"
  | "too-many-streams"
  | "bad-signature"
  | "body-used"
  | "internal";

const httpStatus: Readonly<Record<HttpErrorCode, number>> = {
  forbidden: 403,
  "cross-site": 403,
  "no-route": 404,
  "method-not-allowed": 405,
  "invalid-path": 400,
  "invalid-query": 400,
  "invalid-body": 400,
  "invalid-json": 400,
  "incomplete-body": 400,
  "body-too-large": 413,
  "body-too-deep": 400,
  "body-too-slow": 408,
  "too-many-keys": 413,
  "too-many-nodes": 413,
  "string-too-long": 413,
  "unsupported-type": 415,
  "unsupported-encoding": 415,
  "too-many-streams": 429,
  "bad-signature": 401,
  "body-used": 500,
  internal: 500,
};

const libraryStatus: Readonly<Record<ErrorCode, number>> = {
  "invalid-name": 500,
  "invalid-id": 400,
  "invalid-options": 400,
  "invalid-input": 422,
  "input-mismatch": 409,
  "workflow-mismatch": 409,
  "run-exists": 409,
  "unknown-workflow": 404,
  "ambiguous-app": 500,
  "other-version": 409,
  "unknown-step": 404,
  "not-found": 404,
  "no-storage": 500,
  "no-secret": 500,
  "not-serializable": 500,
  "too-large": 413,
  "too-deep": 400,
  limit: 422,
  corrupt: 500,
  "newer-format": 500,
  "pre-release": 500,
  "no-key": 500,
  tampered: 500,
  conflict: 409,
  diverged: 409,
  "foreign-await": 409,
  "wrong-context": 500,
  "open-child": 409,
  "unhandled-rejection": 500,
  "journal-regressed": 500,
  poison: 500,
  "step-failed": 500,
  "step-timeout": 504,
  "invalid-output": 502,
  "suspend-expired": 410,
  suspended: 409,
  cancelled: 409,
  "cleanup-failed": 500,
  uncompensated: 500,
  deadline: 504,
  "over-budget": 402,
  "retry-refused": 409,
  "run-failed": 500,
  "off-the-record": 500,
  "storage-busy": 503,
  "storage-full": 507,
  "storage-readonly": 500,
  "storage-closed": 503,
  "storage-failed": 503,
};

/** A refused request. `message` is sent to the client, `cause` is not. */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: HttpErrorCode,
    message: string,
    options: {
      cause?: unknown;
      details?: Readonly<Record<string, unknown>> | undefined;
      headers?: Readonly<Record<string, string>> | undefined;
    } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "HttpError";
    this.code = code;
    this.status = httpStatus[code];
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
  }
}

/** The response of a hook, which is sent as it is. */
export class Answered extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super("answered by a hook");
    this.name = "Answered";
    this.response = response;
  }
}

/** The HTTP status for a code of the library. */
export const statusOf = (code: string): number => (libraryStatus as Record<string, number>)[code] ?? 500;

/**
 * Turns any error into a JSON answer. Errors of the server (5xx) are passed to `onError` and answered with a
 * general sentence.
 */
export function errorResponse(error: unknown, onError?: (error: unknown) => void): Response {
  if (error instanceof Answered) return error.response;
  const reply = errorOf(error);
  if (reply.status >= 500) onError?.(error);
  const { status, code, message, details = {}, headers = {} } = reply;
  const body = { error: { code, message, ...(Object.keys(details).length === 0 ? {} : { details }) } };
  return json(status, body, headers);
}

interface ErrorReply {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

function errorOf(error: unknown): ErrorReply {
  if (error instanceof HttpError) return error;
  const code = DurableError.is(error) ? error.code : "internal";
  const status = DurableError.is(error) ? statusOf(code) : 500;
  if (DurableError.is(error) && status < 500) return { status, code, message: error.message };
  return status === 503
    ? {
        status,
        code,
        message: "The storage is not available. Try again later.",
        headers: { "retry-after": "5" },
      }
    : { status, code, message: "The request failed on the server. The reason is in the server's log." };
}

/** Sent with every response. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** A JSON answer that browsers do not render and caches do not store. */
export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return jsonText(status, JSON.stringify(body), headers);
}

/** A response of JSON that is text already. */
export function jsonText(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, {
    status,
    headers: { ...safeHeaders, "content-type": "application/json", ...headers },
  });
}
