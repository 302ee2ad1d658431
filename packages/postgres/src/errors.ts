/** Maps errors of Postgres, of its client and of the network to error codes and plain reasons. */

import { DurableError, type ErrorCode } from "@durable/core";

type Named = readonly [ErrorCode, string];

const unreachable: Named = [
  "storage-busy",
  "the connection failed; whether the last write landed is unknown",
];
const busy: Named = ["storage-busy", "the server is busy, starting or stopping; try again later"];
const denied: Named = [
  "storage-readonly",
  "this role lacks a right; the owner of the tables grants it with PostgresStorage.migrate(url, { grantTo })",
];
const damaged: Named = ["corrupt", "the server found damaged pages; restore it from a backup"];

/** Errors of the client or the network while a connection is opened, when nothing can have been written. */
const unopened: readonly (readonly [RegExp, ...Named])[] = [
  [
    /does not support SSL/i,
    "storage-failed",
    "the server does not use TLS; remove sslmode from the address, or turn TLS on at the server",
  ],
  [
    /certificate|self-signed|SSL|TLS|EPROTO/i,
    "storage-failed",
    "no connection with TLS could be made; check sslmode and the certificates",
  ],
  [/ENOTFOUND/, "storage-failed", "the name of its host is unknown; check the host in the address"],
  [
    /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH/,
    "storage-busy",
    "no server accepts connections there, so nothing was written; check host and port, or wait until the server has started",
  ],
  [
    /timeout exceeded when trying to connect|due to connection timeout/,
    "storage-busy",
    "no connection could be had in time, so nothing was written; the server is away, or the connections are too few",
  ],
];

/** By SQLSTATE, or by its class (the first two characters). */
const names: Readonly<Record<string, Named>> = {
  "08": unreachable,
  "57": busy,
  "53": busy,
  "40": busy,
  "57014": ["storage-busy", "the server ended a statement that took too long; nothing of it was written"],
  "53100": ["storage-full", "the disk of the server is full; free some space, so that the runs can continue"],
  "55P03": busy,
  "25006": ["storage-readonly", "the server is a replica, or its transactions are read-only"],
  "42501": denied,
  "28": ["storage-failed", "the server refuses the user or the password"],
  "3D": ["storage-failed", "this database does not exist"],
  "3F": ["storage-failed", "the schema does not exist; run PostgresStorage.migrate first"],
  "42P01": ["storage-failed", "its tables are missing; run PostgresStorage.migrate first"],
  "42704": ["storage-failed", "a role or another name does not exist; create it first"],
  "42883": ["storage-failed", "its functions are missing; run PostgresStorage.migrate first"],
  XX001: damaged,
  XX002: damaged,
  // Only a number of batches that is wrong can lead to a batch that exists already.
  "23505": ["corrupt", "the number of its batches is wrong; restore it from a backup"],
};

/** The SQLSTATE of an error that the server reported; null for errors of the client or the network. */
export function stateOf(error: unknown): string | null {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === "string" && typeof severity === "string" ? code : null;
}

/** True when Postgres has rolled the transaction back because of others, so that the same statement may succeed. */
export function isCollision(error: unknown): boolean {
  const state = stateOf(error);
  return state === "40P01" || state === "40001";
}

/** True when a prepared statement is missing, or is there already: a pooler has changed the connection. Nothing ran. */
export function isUnknownName(error: unknown): boolean {
  const state = stateOf(error);
  return state === "26000" || state === "42P05";
}

/** True when the statement itself is at fault: it was rolled back, and other statements may succeed. */
export function isOwnFault(error: unknown): boolean {
  const state = stateOf(error);
  // Not those about the connection, the rights, other transactions, the machine or the server.
  return state !== null && !/^(?:08|25|28|40|42501|53|55|57|58|XX)/.test(state);
}

function lost(message: string): Named {
  const [, ...found] = unopened.find(([pattern]) => pattern.test(message)) ?? [null, ...unreachable];
  return found;
}

/** A `DurableError` for anything that was thrown; a `DurableError` is returned unchanged. */
export function named(error: unknown, place: string): DurableError {
  if (DurableError.is(error)) return error;
  const { message = "", code: reason = "" } = Object(error) as { message?: string; code?: string };
  const text = message || reason || String(error);
  const state = stateOf(error);
  const failed: Named = state === null ? lost(`${reason} ${text}`) : ["storage-failed", "a statement failed"];
  const [code, why] = names[state ?? ""] ?? names[state?.slice(0, 2) ?? ""] ?? failed;
  return new DurableError(code, `The journals in ${place} cannot be used: ${why} (${text}).`, {
    cause: error,
  });
}
