/**
 * Errors on their way into a journal and out of it.
 *
 * F1. Bodies, headers and URL queries are not recorded, because they contain prompts and sometimes keys.
 * F2. A restored error passes the `isInstance` checks of the AI SDK, which use symbols on the error.
 * F3. The SDK does not retry a restored error, because the step already has.
 * F4. Every copy is a real error, made by a constructor: it has a stack, and `Error.isError` holds.
 *
 * Proven in test/troubles.test.ts and test/differential.
 */

import { DurableError, FatalError } from "@durable/core";
import { plain } from "@durable/core/clients";

type Fields = Error & Record<PropertyKey, unknown>;

/** The field for the symbols of an error, which a journal cannot hold. */
const marksField = "aiSdkMarks";
const sdkMark = "vercel.ai.error";
/** The field of a failure that the caller's signal caused. */
const abortedField = "aiSdkAborted";
/** Fields that are not recorded. `responseHeaders` is still read for a `retry-after`. */
const unrecorded = ["responseBody", "requestBodyValues", "data", "responseHeaders", "value", "prompt"];

/** The part of a thrown value that may be recorded. */
export function keptError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return plain(thrown);
  // The fields of a DOMException are getters on its prototype, and none is needed.
  if (thrown instanceof DOMException || depth > 8) return thrown;
  const copy = copyOf(thrown);
  for (const field of unrecorded) if (field in copy) define(copy, field, copy[field]);
  if (typeof copy["url"] === "string") define(copy, "url", withoutQuery(copy["url"]), true);
  if ("cause" in thrown) define(copy, "cause", keptError(thrown.cause, depth + 1));
  const marks = marksOf(thrown);
  if (marks.length > 0) define(copy, marksField, marks.join(" "), true);
  return copy;
}

/** The same for an error of a provider call; an error that retrying cannot fix becomes final. */
export function callFailure(thrown: unknown, signal: AbortSignal | undefined): unknown {
  const kept = keptError(thrown);
  const own = thrown instanceof Error && marksOf(thrown).includes(sdkMark);
  const hopeless = own && (thrown as Fields)["isRetryable"] !== true;
  if (signal?.aborted === true) return abortedBy(kept, signal.reason);
  return hopeless ? final(kept) : kept;
}

/** An error after which no attempt is made. */
export function final(error: unknown): FatalError {
  const text = error instanceof Error ? error.message : "The call was aborted.";
  return new FatalError(text, { cause: error });
}

/** The same for a call that failed because its caller aborted it. The SDK shows the reason beside the error. */
export function abortedBy(error: unknown, reason: unknown): FatalError {
  const failure = final(error);
  const named = reason instanceof DOMException && reason !== error;
  define(failure, abortedField, named ? `${reason.name} ${reason.message}` : true, true);
  return failure;
}

/** Why the caller aborted a call, from its recorded failure; `null` if it did not. */
export function abortOf(thrown: unknown): { readonly reason: unknown } | null {
  const error = DurableError.is(thrown, "step-failed") ? thrown.cause : thrown;
  const mark = error instanceof Error ? (error as Fields)[abortedField] : undefined;
  if (mark === true) return { reason: restoredError(error) };
  if (typeof mark !== "string") return null;
  const [name, ...message] = mark.split(" ");
  return { reason: new DOMException(message.join(" "), name) };
}

/** An error as its caller gets it while it is recorded: equal to the one that a replay restores. */
export function shownError(thrown: unknown): unknown {
  return restoredError(keptError(thrown), false);
}

/** The error of the provider or the SDK, from an error thrown by a step or a journal. */
export function restoredError(thrown: unknown, wrapped = true): unknown {
  let error: unknown = thrown;
  if (wrapped) {
    if (DurableError.is(error, "step-failed")) error = error.cause;
    if (error instanceof Error && error.name === "FatalError" && "cause" in error) error = error.cause;
  }
  if (!(error instanceof Error)) return error;
  const fields = error as Fields;
  const marks = fields[marksField];
  if (typeof marks === "string") {
    for (const mark of marks.split(" ")) define(fields, Symbol.for(mark), true);
    delete fields[marksField];
  }
  if ("isRetryable" in fields) define(fields, "isRetryable", false, true);
  if (fields.cause instanceof Error) restoredError(fields.cause, false);
  return error;
}

/** Of the same class, with the same own fields. */
function copyOf(error: Error): Fields {
  const copy = new Error(error.message);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object);
  Object.defineProperties(copy, Object.getOwnPropertyDescriptors(error));
  define(copy, "stack", error.stack);
  return copy as Fields;
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
