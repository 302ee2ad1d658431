/** Errors that are shown in one line. Proven in the tests of the demos. */

import { DurableError } from "@durable/core";
import { ModelChoiceError } from "./choose.ts";

/** True for errors that a user can fix. All others are bugs, and are shown with their stack. */
export function isForUsers(error: unknown): error is Error {
  if (error instanceof ModelChoiceError || error instanceof RangeError || DurableError.is(error)) return true;
  // What a provider or the AI SDK said: of several copies of the SDK, all set this mark.
  if (Object(error)[Symbol.for("vercel.ai.error")] === true) return true;
  return (
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")
  );
}

/** True when a server cannot listen where it was told to. */
export function isPortProblem(error: unknown): error is Error {
  const { code } = Object(error) as { readonly code?: unknown };
  return ["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "ENOTFOUND"].includes(String(code));
}
