/** Which errors are told in one line. */

import { DurableError } from "@durable/core";
import { ModelChoiceError } from "./choose.ts";

/** What a user can put right is told in one line; anything else is a fault of the program, and keeps its stack. */
export function isForUsers(error: unknown): error is Error {
  if (error instanceof ModelChoiceError || error instanceof RangeError || DurableError.is(error)) return true;
  return (
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")
  );
}
