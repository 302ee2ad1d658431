/** Maps errors of SQLite and the file system to error codes and plain reasons. */

import { DurableError, type ErrorCode } from "../../values/errors.ts";

const readonly = ["storage-readonly", "this process may not write to it or to its folder"] as const;
const full = ["storage-full", "the disk is full; free some space, so that the runs can continue"] as const;
const busy = ["storage-busy", "another process holds its lock; try again later"] as const;

/** By SQLite's result code, extended or primary, or by the code of a Node error. */
const names: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  3: readonly,
  5: busy,
  6: busy,
  8: readonly,
  10: ["storage-failed", "the disk reported an error; check the disk"],
  11: ["corrupt", "its pages are damaged; restore it from a backup"],
  13: full,
  14: ["storage-failed", "it cannot be opened; check the path and the permissions"],
  15: busy,
  26: ["corrupt", "it is not a SQLite database; choose another path, or restore it from a backup"],
  // A page that the file should have is beyond its end.
  522: ["corrupt", "its end is missing; restore it from a backup"],
  EACCES: readonly,
  EPERM: readonly,
  EROFS: readonly,
  ENOSPC: full,
  EDQUOT: full,
};

/** Codes that concern only the one statement, not the file: error, too big, constraint, mismatch, range. */
const ofStatement: ReadonlySet<number> = new Set([1, 18, 19, 20, 25]);

function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

/** True when another process has the file locked, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return names[resultCode(error) ?? ""] === busy;
}

/** True when the statement itself is at fault, so that other statements may succeed. */
export function isOwnFault(error: unknown): boolean {
  const code = resultCode(error);
  return code === null || ofStatement.has(code);
}

/** A `DurableError` for anything that was thrown; a `DurableError` is returned unchanged. */
export function named(error: unknown, path: string): DurableError {
  if (DurableError.is(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  const known = names[String(errcode)] ?? names[String(resultCode(error) ?? code)];
  const [name, why] = known ?? (["storage-failed", "an operation on it failed"] as const);
  return new DurableError(name, `The journal file "${path}" cannot be used: ${why} (${message}).`, {
    cause: error,
  });
}
