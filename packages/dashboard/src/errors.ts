/** The refusals of this package, besides those of `@durable/http`. Proven in test/security.test.ts. */

import { DurableError } from "@durable/core";
import { errorResponse as otherResponse } from "@durable/http";
import { json, statusOf } from "@durable/http/kit";

/** Codes of this package, and codes of the library that say here what the user of the page did. */
const statuses: Readonly<Record<string, number>> = {
  "wrong-host": 403,
  "read-only": 403,
  "no-code": 409,
  "no-secret": 409,
  "invalid-name": 400,
  "unknown-workflow": 409,
};

/** A refused request; its message is sent to the client. */
export class Refusal extends Error {
  readonly code: "wrong-host" | "read-only" | "no-code";

  constructor(code: Refusal["code"], message: string) {
    super(message);
    this.name = "Refusal";
    this.code = code;
  }
}

/**
 * Whoever may read the journal may also read why it cannot be read, so the message of an error of the library
 * is sent. Any other error is passed to `onError` and answered with a general sentence.
 */
export function errorResponse(error: unknown, onError: (error: unknown) => void): Response {
  if (!(error instanceof Refusal) && !DurableError.is(error)) return otherResponse(error, onError);
  const { code, message } = error;
  return json(statuses[code] ?? statusOf(code), { error: { code, message } });
}

/** The error of wrong options. */
export function invalid(message: string): DurableError {
  return new DurableError("invalid-options", message);
}
