/** What SQLite and the file system say, by the names our users know. */

import { DurableError, type ErrorCode } from "../../values/errors.ts";

const readonly = ["storage-readonly", "it, or its folder, may not be written to by this process"] as const;
const full = ["storage-full", "the disk is full; runs go on when there is space again"] as const;
const busy = ["storage-busy", "another process holds its lock"] as const;

/** By SQLite's result code, extended or primary, or by the code of a Node error. */
const names: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  3: readonly,
  5: busy,
  6: busy,
  8: readonly,
  10: ["storage-failed", "the disk reported an error"],
  11: ["corrupt", "its pages are damaged; restore it from a backup"],
  13: full,
  14: ["storage-failed", "it cannot be opened; check path and permissions"],
  15: busy,
  26: ["corrupt", "it is not a SQLite database"],
  // A page that the file should have lies behind its end.
  522: ["corrupt", "its end is missing; restore it from a backup"],
  EACCES: readonly,
  EPERM: readonly,
  EROFS: readonly,
  ENOSPC: full,
  EDQUOT: full,
};

/** Codes that say something about the one statement, not about the file: too big, constraint, mismatch, range. */
const ofStatement: ReadonlySet<number> = new Set([1, 18, 19, 20, 25]);

function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

/** Another process is at it; later it may work. */
export function isBusy(error: unknown): boolean {
  return names[resultCode(error) ?? ""] === busy;
}

/** The fault of what was asked for, so that asking for something else may work. */
export function isOwnFault(error: unknown): boolean {
  const code = resultCode(error);
  return code === null || ofStatement.has(code);
}

/** A typed error for whatever was thrown; our own errors pass. */
export function named(error: unknown, path: string): DurableError {
  if (DurableError.is(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  const known = names[String(errcode)] ?? names[String(resultCode(error) ?? code)];
  const [name, why] = known ?? (["storage-failed", "it did not do what was asked"] as const);
  return new DurableError(name, `The journal file ${path} cannot be used: ${why} (${message}).`, {
    cause: error,
  });
}
