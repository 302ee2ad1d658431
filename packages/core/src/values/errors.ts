/**
 * The error class of the library, and the two error classes that users throw.
 * Codes are the anchors of docs/errors.md; `npm run docs:check` compares that page with this list.
 */

import type { Duration } from "./duration.ts";
import { limits } from "./limits.ts";
import { scrub } from "./scrub.ts";

export const errorCodes = [
  "invalid-name",
  "invalid-id",
  "invalid-options",
  "invalid-input",
  "input-mismatch",
  "workflow-mismatch",
  "run-exists",
  "unknown-workflow",
  "ambiguous-app",
  "other-version",
  "unknown-step",
  "not-found",
  "no-storage",
  "no-secret",
  "not-serializable",
  "too-large",
  "too-deep",
  "limit",
  "corrupt",
  "newer-format",
  "pre-release",
  "no-key",
  "tampered",
  "conflict",
  "diverged",
  "foreign-await",
  "wrong-context",
  "open-child",
  "unhandled-rejection",
  "journal-regressed",
  "poison",
  "step-failed",
  "step-timeout",
  "invalid-output",
  "suspend-expired",
  "suspended",
  "cancelled",
  "deadline",
  "over-budget",
  "retry-refused",
  "run-failed",
  "off-the-record",
  "cleanup-failed",
  "uncompensated",
  "storage-busy",
  "storage-full",
  "storage-readonly",
  "storage-closed",
  "storage-failed",
] as const;

/** The codes of `DurableError`. The table of errors explains each. */
export type ErrorCode = (typeof errorCodes)[number];

/** Every error of this library. Match it with `DurableError.is(error, "code")`. */
export class DurableError extends Error {
  /** Says what happened, and is the anchor of its section in the table of errors. */
  readonly code: ErrorCode;
  /** Data that belongs to the code: the open waits for `suspended`, the path for `not-serializable`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> | undefined } = {},
  ) {
    super(scrub(message), "cause" in options ? { cause: options.cause } : undefined);
    this.name = "DurableError";
    this.code = code;
    this.details = options.details ?? {};
  }

  /** What `JSON.stringify` gives: an error without this loses its message. */
  toJSON(): { name: string; code: ErrorCode; message: string; details: Readonly<Record<string, unknown>> } {
    const { name, code, message, details } = this;
    return { name, code, message, details };
  }

  /**
   * True for an error of this library, of this code if one is given. Compares names, so it also works across
   * two copies of the package and after replay.
   */
  static is<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is DurableError & { code: C } {
    if (!(error instanceof Error) || error.name !== "DurableError") return false;
    const found = (error as Partial<DurableError>).code;
    return code === undefined ? typeof found === "string" : found === code;
  }
}

/** An error that workflow code sees. Its stack comes from the record alone, so that every replay gives the same one. */
export function recordedError(...given: ConstructorParameters<typeof DurableError>): DurableError {
  const error = new DurableError(...given);
  const { cause } = error;
  const frames = cause instanceof Error ? /\n\s+at [^]*/.exec(cause.stack ?? "")?.[0] : undefined;
  error.stack = `${error.name}: ${error.message}${frames ?? ""}`;
  return error;
}

/** Refuses data whose version is not the one that this build `reads`. `instead` is the way out for data that is too old. */
export function otherFormat(
  what: string,
  found: number,
  about: { readonly reads: number; readonly instead: string; readonly upgrade?: string },
): DurableError {
  const { reads, instead, upgrade = "@durable/core" } = about;
  return found > reads
    ? new DurableError(
        "newer-format",
        `${what} ${found}, newer than this build reads (${reads}). Upgrade ${upgrade} in this process.`,
      )
    : new DurableError(
        "pre-release",
        `${what} ${found}, of a version before the first release; this build reads ${reads}. ${instead}`,
      );
}

/** Throw it in a step to fail at once, without further attempts. */
export class FatalError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "FatalError";
  }
}

/** Throw it in a step to be tried again not before `after`: "30s", milliseconds or a Date. */
export class RetryError extends Error {
  readonly after: Duration | Date;
  constructor(message: string, options: { after: Duration | Date; cause?: unknown }) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "RetryError";
    this.after = options.after;
  }
}

/** The text of any thrown value, for use in messages. */
export function describeError(error: unknown): string {
  try {
    // Scrubbed before it is cut, because half of a secret would not be recognized.
    if (error instanceof Error) return scrub(`${error.name}: ${error.message}`).slice(0, limits.stackLength);
  } catch {
    // An error whose fields cannot be read is described like any other value.
  }
  return typeof error === "string" ? scrub(error).slice(0, limits.stackLength) : show(error);
}

/** Any value as a short text, for use in messages. The value may be hostile, huge or cyclic. */
export function show(value: unknown): string {
  try {
    // Scrubbed before it is cut, because half of a secret would not be recognized.
    const start = typeof value === "string" ? scrub(value).slice(0, longestShown) : value;
    const text = scrub(typeof value === "number" ? String(value) : (JSON.stringify(start) ?? String(value)));
    return text.length > longestShown ? `${text.slice(0, longestShown)}...` : text;
  } catch {
    return typeof value === "bigint" ? `${value}n` : `a value of type ${typeof value}`;
  }
}

const longestShown = 200;
