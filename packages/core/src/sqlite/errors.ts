/** SQLite's result codes, by the names our users know. */

import { DurableError, type ErrorCode } from "../errors.ts";

const names: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  5: ["storage-busy", "another process holds its write lock"],
  6: ["storage-busy", "it is locked"],
  8: ["storage-readonly", "it, or its folder, may not be written to by this process"],
  10: ["storage-failed", "the disk reported an error"],
  11: ["corrupt", "its pages are damaged; restore it from a backup"],
  13: ["storage-full", "the disk is full; runs go on when there is space again"],
  14: ["storage-failed", "it cannot be opened; check path and permissions"],
  26: ["corrupt", "it is not a SQLite database"],
};

export function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

/** A typed error for whatever the database threw; our own errors pass. */
export function named(error: unknown, path: string): DurableError {
  if (DurableError.is(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const [code, why] = names[resultCode(error) ?? -1] ?? (["storage-failed", message] as const);
  return new DurableError(
    code,
    `The journal file ${path} cannot be used: ${why} (SQLite says: ${message}).`,
    { cause: error },
  );
}
