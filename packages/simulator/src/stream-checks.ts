/**
 * Checks on streams.
 *
 * I3. The recorded chunks of an attempt came from one body, in its order; a completed stream from one that
 *     ended.
 * I8. Attempts count 1, 2, 3; the chunks of one are dense; the end counts them.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import type { RunLog, WrittenEntry } from "./run-log.ts";

export function isOfStream({ kind, stream }: WrittenEntry): boolean {
  return kind.startsWith("stream.") || stream === true;
}

/** The recorded chunks of one attempt of a stream. */
export function chunksOf(entries: readonly WrittenEntry[], key: string, attempt: number): unknown[] {
  return entries.flatMap((entry) =>
    entry.kind === "stream.chunks" && entry.key === key && (entry.attempt ?? 1) === attempt
      ? (entry.chunks ?? [])
      : [],
  );
}

/** What is wrong with an entry of a stream, given the entries before it, or null. */
export function wrongStream(entry: WrittenEntry, earlier: () => WrittenEntry[]): string | null {
  if (!isOfStream(entry)) return null;
  const { key, attempt = 1 } = entry;
  const of = earlier().filter((other) => other.key === key && isOfStream(other));
  const latest = Math.max(0, ...of.map((other) => other.attempt ?? 1));
  const over = of.some((other) => other.kind === "attempt.failed" && (other.attempt ?? 1) === latest);
  if (attempt !== latest + 1 && (attempt !== latest || over))
    return `is attempt ${attempt}, after attempt ${latest}${over ? ", which failed" : ""}`;
  return wrongChunks(entry, () => of);
}

export function wrongChunks(entry: WrittenEntry, earlier: () => WrittenEntry[]): string | null {
  const { kind, key = "", attempt = 1, from, count } = entry;
  if (kind !== "stream.chunks" && kind !== "stream.completed") return null;
  const known = chunksOf(earlier(), key, attempt).length;
  if (kind === "stream.chunks") return from === known ? null : `begins at ${from}, after ${known} chunks`;
  return count === known ? null : `counts ${count} chunks, but ${known} are recorded`;
}

/** I3, after the end of the simulation. */
export function judgeStreams(history: History, run: RunLog, bodies: readonly Body[]): void {
  const entries = history.entries(run);
  const attempts = new Map<string, WrittenEntry>();
  for (const entry of entries) {
    if (!/^stream\.(chunks|completed)$/.test(entry.kind)) continue;
    attempts.set(`${entry.key} ${entry.attempt ?? 1}`, entry);
  }
  for (const { key = "", attempt = 1, kind } of attempts.values()) {
    if (kind === "stream.completed" && isTimedOut(entries, key))
      history.meet("a stream that ended after a timeout");
    const recorded = chunksOf(entries, key, attempt);
    const given = bodies.some(
      (body) =>
        body.key === key &&
        body.attempt === attempt &&
        (!body.comparable || isBeginning(recorded, body.chunks ?? [])) &&
        (kind !== "stream.completed" || (body.ended === true && body.chunks?.length === recorded.length)),
    );
    if (!given)
      history.violate(
        "I3",
        `run ${run.runId}: attempt ${attempt} of ${key} is recorded with chunks that no body yielded`,
      );
  }
}

function isTimedOut(entries: readonly WrittenEntry[], key: string): boolean {
  return entries.some(
    (entry) =>
      entry.kind === "attempt.failed" &&
      entry.key === key &&
      JSON.stringify(entry.error).includes(" took longer than "),
  );
}

function isBeginning(part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((item, i) => JSON.stringify(item) === JSON.stringify(whole[i]));
}
