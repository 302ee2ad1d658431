/** Appends as the arguments of one statement, and its reply as one result for each. */

import type { AppendRequest, DurableError, NamedBlob } from "@durable/core";
import { conflict, droppedConflict, refuseBlobs } from "@durable/core/storage-kit";
import { put } from "./text.ts";

/** Why an append was refused, as `append_1` says it. */
export interface Refusal {
  readonly item: number;
  readonly reason: "gone" | "moved" | "dropped" | "blob";
  readonly missing: readonly string[] | null;
}

export const appendText = (schema: string): string =>
  `SELECT * FROM ${schema}.append_1(${Array.from({ length: 23 }, (_, n) => `$${n + 1}`).join(", ")})`;

export function appendValues(
  requests: readonly AppendRequest[],
  process: string,
  now: number | null,
): unknown[] {
  const column = <T>(of: (request: AppendRequest) => T): T[] => requests.map(of);
  const text = (value: string | null): string | null => (value === null ? null : put(value));
  // What only the first batch sets is not sent again.
  const first = (of: (request: AppendRequest) => string | null): (string | null)[] =>
    column((request) => (request.position === 0 ? text(of(request)) : null));
  const blobs = requests.map(({ blobs: given = [] }) => (isPossible(given) ? distinct(given) : []));
  return [
    column(({ locator }) => locator),
    column(({ position }) => position),
    column(({ batch }) => put(batch)),
    column(({ head }) => head.createdAt),
    column(({ head }) => head.status),
    column(({ head }) => head.wakeAt),
    column(({ head }) => head.updatedAt),
    column(({ head }) => head.steps),
    column(({ head }) => head.chapter ?? null),
    column(({ lease }) => (lease ? put(lease.owner) : null)),
    column(({ lease }) => (lease === undefined ? null : (lease?.ttlMs ?? -1))),
    first(({ head }) => head.runId),
    first(({ head }) => head.workflow),
    first(({ head }) => head.label),
    first(({ head }) => head.parent),
    column(({ head }) => JSON.stringify(head.ancestors)),
    first(({ head }) => (head.readsFrom === undefined ? null : JSON.stringify(head.readsFrom))),
    column(({ blobs: given = [] }) => !isPossible(given)),
    blobs.map(({ length }) => length),
    blobs.flatMap((of) => of.map(([name]) => put(name))),
    blobs.flatMap((of) => of.map(([, body]) => text(body ?? null))),
    process,
    now,
  ];
}

/** One result for each request: `null` when it landed. */
export function refusalsOf(
  requests: readonly AppendRequest[],
  refused: readonly Refusal[],
): (DurableError | null)[] {
  const results = requests.map((): DurableError | null => null);
  for (const { item, reason, missing } of refused) {
    const request = requests[item - 1];
    if (request !== undefined) results[item - 1] = errorOf(request, reason, new Set(missing));
  }
  return results;
}

function errorOf(
  { head, position, blobs = [] }: AppendRequest,
  reason: Refusal["reason"],
  missing: ReadonlySet<string>,
): DurableError {
  if (reason === "dropped") return droppedConflict(head.runId);
  const refusal =
    reason === "blob" ? refuseBlobs(head.runId, blobs, (name) => !missing.has(put(name))) : null;
  return refusal ?? conflict(head.runId, position, reason === "gone");
}

/** False for texts that UTF-8 cannot represent. The database then only checks whether there is a conflict. */
function isPossible(blobs: readonly NamedBlob[]): boolean {
  return blobs.every(({ name, body }) => name.isWellFormed() && body?.isWellFormed() !== false);
}

/** Each name once, with its body if one of them has it, in the order in which blobs are locked. */
function distinct(blobs: readonly NamedBlob[]): [string, string | undefined][] {
  const bodies = new Map<string, string | undefined>();
  for (const { name, body } of blobs) bodies.set(name, bodies.get(name) ?? body);
  return [...bodies];
}

/** Roughly how many characters a request sends. */
export function sizeOf({ batch, blobs = [] }: AppendRequest): number {
  return blobs.reduce((sum, { body = "" }) => sum + body.length, batch.length);
}
