/** Errors as responses: `{ error: { code, message } }` with an HTTP status. Proven in test/security.test.ts. */

import { DurableError } from "@durable/core";

/** Codes of this package, besides those of `@durable/core`. */
export type RefusalCode =
  | "forbidden"
  | "wrong-host"
  | "cross-site"
  | "read-only"
  | "no-code"
  | "no-route"
  | "method-not-allowed"
  | "invalid-query"
  | "invalid-body"
  | "too-many-streams";

const statuses: Readonly<Record<RefusalCode, number>> = {
  forbidden: 403,
  "wrong-host": 403,
  "cross-site": 403,
  "read-only": 403,
  "no-code": 409,
  "no-route": 404,
  "method-not-allowed": 405,
  "invalid-query": 400,
  "invalid-body": 400,
  "too-many-streams": 429,
};

/** A refused request; its message is sent to the client. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = statuses[code];
  }
}

/** Errors that say what the user of the page did, or what another process did first. */
const status = new Map<string, number>([
  ["not-found", 404],
  ["unknown-step", 404],
  ["unknown-workflow", 409],
  ["invalid-id", 400],
  ["invalid-options", 400],
  ["invalid-name", 400],
  ["invalid-input", 422],
  ["conflict", 409],
  ["diverged", 409],
  ["no-secret", 409],
  ["too-large", 413],
  ["too-deep", 400],
]);

/**
 * Whoever may read the journal may also read why it cannot be read, so the message of an error of the library
 * is sent. Any other error is passed to `onError` and answered with a general sentence.
 */
export function errorResponse(error: unknown, onError: (error: unknown) => void): Response {
  if (error instanceof Refusal) return json(error.status, bodyOf(error.code, error.message));
  if (DurableError.is(error)) return json(status.get(error.code) ?? 500, bodyOf(error.code, error.message));
  onError(error);
  return json(
    500,
    bodyOf("internal", "The request failed on the server. The reason is in the server's log."),
  );
}

function bodyOf(code: string, message: string): object {
  return { error: { code, message } };
}

export function json(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status: code,
    headers: { "content-type": "application/json", ...headers },
  });
}

/** The error of wrong options. */
export function invalid(message: string): DurableError {
  return new DurableError("invalid-options", message);
}
