/**
 * Times in documents for machines, as ISO 8601 texts in UTC: `--json`, and the answers of MCP.
 *
 * iso.1. Only fields of ours are times. An output of a user with a field `createdAt` stays as it is: only the parts of a document that are
 *     ours are read.
 */

import type { Plain } from "@durable/core/inspect";

/** Fields that hold a time, or several. */
const times = new Set(
  "at since until createdAt updatedAt startedAt endedAt openedAt expiresAt retryAt wakeAt dueSince deadline nextAt queuedAt lastAt seenAt stoppedAt next".split(
    " ",
  ),
);

/** Fields that hold parts of ours. */
const parts = new Set(
  "run runs rows attempts waits waiting retries losses blocked paused undoing step struck tree below schedules workers stopped load doing entries entry scores unreadable".split(
    " ",
  ),
);

/** The greatest time that a Date can have. */
const greatest = 8_640_000_000_000_000;

function isTime(value: Plain | undefined): value is number {
  return typeof value === "number" && Math.abs(value) <= greatest;
}

const isoOf = (at: number): string => new Date(at).toISOString();

/** A document with its times as texts. */
export function isoTimes(document: Plain): Plain {
  if (Array.isArray(document)) return document.map(isoTimes);
  if (typeof document !== "object" || document === null) return document;
  const fields = Object.entries(document as Readonly<Record<string, Plain>>);
  return Object.fromEntries(fields.map(([name, value]) => [name, fieldOf(name, value)]));
}

function fieldOf(name: string, value: Plain): Plain {
  if (times.has(name)) {
    if (isTime(value)) return isoOf(value);
    if (Array.isArray(value) && value.length > 0 && value.every(isTime)) return value.map(isoOf);
  }
  // Rows say when a retry struck them, entries say which entry did.
  if (name === "struck" && isTime(value)) return value > 1e11 ? isoOf(value) : value;
  // In a list, scores are numbers by names of users.
  if (!parts.has(name) || (name === "scores" && !Array.isArray(value))) return value;
  return isoTimes(value);
}
