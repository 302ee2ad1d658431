/**
 * Errors on their way into a journal and out of it.
 *
 * F1. Bodies, headers and the query of an address are not recorded: they hold prompts, and sometimes keys.
 * F2. What comes out is known to the AI SDK as what went in: its classes know their own by marks on the error.
 * F3. What comes out is not tried again by the SDK. The step has done that.
 */

import { DurableError, FatalError } from "@durable/core";
import { plain } from "./plain.ts";

type Fields = Error & Record<PropertyKey, unknown>;

/** Where the marks of an error are kept, since a journal knows no symbols. */
const marksField = "aiSdkMarks";
const sdkMark = "vercel.ai.error";
/** Left out of what is recorded. `responseHeaders` is still read for a `retry-after`. */
const unrecorded = ["responseBody", "requestBodyValues", "data", "responseHeaders", "value", "prompt"];

/** What may be recorded of something thrown. */
export function keptError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return plain(thrown);
  // Its fields are not its own, and it has none that matter.
  if (thrown instanceof DOMException || depth > 8) return thrown;
  const copy = Object.create(
    Object.getPrototypeOf(thrown) as object,
    Object.getOwnPropertyDescriptors(thrown),
  ) as Fields;
  define(copy, "stack", thrown.stack);
  for (const field of unrecorded) if (field in copy) define(copy, field, copy[field]);
  if (typeof copy["url"] === "string") define(copy, "url", withoutQuery(copy["url"]), true);
  if ("cause" in thrown) define(copy, "cause", keptError(thrown.cause, depth + 1));
  const marks = marksOf(thrown);
  if (marks.length > 0) define(copy, marksField, marks.join(" "), true);
  return copy;
}

/** The same for what a provider call threw; what a further attempt cannot help is final. */
export function callFailure(thrown: unknown, signal: AbortSignal | undefined): unknown {
  const kept = keptError(thrown);
  const own = thrown instanceof Error && marksOf(thrown).includes(sdkMark);
  const hopeless = own && (thrown as Fields)["isRetryable"] !== true;
  return hopeless || signal?.aborted === true ? final(kept) : kept;
}

/** No further attempt is made after this. */
export function final(error: unknown): FatalError {
  const text = error instanceof Error ? error.message : "The call was given up.";
  return new FatalError(text, { cause: error });
}

/** The error of the provider, or of the SDK, from what a step or a journal threw. */
export function restoredError(thrown: unknown): unknown {
  let error: unknown = thrown;
  if (DurableError.is(error, "step-failed")) error = error.cause;
  if (error instanceof Error && error.name === "FatalError" && "cause" in error) error = error.cause;
  if (!(error instanceof Error)) return error;
  const fields = error as Fields;
  const marks = fields[marksField];
  if (typeof marks === "string") {
    for (const mark of marks.split(" ")) define(fields, Symbol.for(mark), true);
    delete fields[marksField];
  }
  if ("isRetryable" in fields) define(fields, "isRetryable", false, true);
  return error;
}

/** Names of the registered symbols that are set on it. */
function marksOf(error: Error): string[] {
  return Object.getOwnPropertySymbols(error).flatMap((symbol) => {
    const name = Symbol.keyFor(symbol);
    return name !== undefined && (error as Fields)[symbol] === true ? [name] : [];
  });
}

function withoutQuery(address: string): string {
  return address.split(/[?#]/, 1)[0] ?? "";
}

function define(error: object, key: PropertyKey, value: unknown, enumerable = false): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
