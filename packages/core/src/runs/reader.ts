/**
 * Reading a stream along, from any process, at any time.
 *
 * reader.1. What is given out is what is recorded, in order, every index once: nothing is guessed from silence.
 * reader.2. The end is known by its entry alone. A prefix whose producer died is followed by a reset, once the next
 *     attempt has something to say.
 * reader.3. A reader that is slow or away costs the producer nothing: it reads when it is asked to.
 */

import { callKind } from "../journal/kinds.ts";
import { decode } from "../values/codec/decode.ts";
import type { Entry } from "../journal/entry.ts";
import { DurableError, describeError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import { notFound, openRun } from "./lookup.ts";

/**
 * What a reader of a stream gets: chunks, and a reset when a new attempt begins and earlier chunks are void.
 */
export type StreamEvent<T = unknown> =
  | { readonly type: "chunk"; readonly attempt: number; readonly index: number; readonly value: T }
  | { readonly type: "reset"; readonly attempt: number };

/** Options of `run.stream`: where to begin, and what ends the reading. */
export interface ReadOptions {
  /** The index to begin at, which is one more than that of the last chunk seen; 0 by default. */
  readonly from?: number | undefined;
  /** The attempt that `from` belongs to; 1 by default. If there is a later attempt, a reset comes first. */
  readonly attempt?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

type StreamEntry = Extract<Entry, { kind: "stream.chunks" | "stream.completed" | "stream.failed" }>;

export async function* readStream(
  host: Host,
  runId: string,
  name: string,
  options: ReadOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const { from = 0, attempt = 1, signal } = options;
  if (!Number.isInteger(from) || from < 0 || !Number.isInteger(attempt) || attempt < 1) {
    throw new DurableError(
      "invalid-options",
      `run.stream("${name}") reads from an index of 0 or more and an attempt of 1 or more.`,
    );
  }
  const journal = await openRun(host, runId);
  const place = { attempt, next: from };
  let seen = 0;
  let key: string | null = null;
  for (;;) {
    key ??= keyOf(journal, name);
    const fresh = key === null ? [] : journal.entries.slice(seen);
    seen += fresh.length;
    for (const entry of fresh) {
      if (key === null || !isOf(entry, key)) continue;
      yield* eventsOf(entry, place, runId);
      if (entry.kind === "stream.completed") return;
    }
    if (journal.state.end !== null) throw endedWithout(journal, name);
    if (signal?.aborted === true) return;
    // Nobody tells of a run that is deleted: it is looked for now and then.
    await host.changed(journal, host.world.now() + host.leaseMs, signal);
    await journal.refresh();
    if (journal.deleted) throw notFound(runId);
  }
}

function isOf(entry: Entry, key: string): entry is StreamEntry {
  return entry.kind.startsWith("stream.") && "key" in entry && entry.key === key;
}

function* eventsOf(
  entry: StreamEntry,
  place: { attempt: number; next: number },
  runId: string,
): Generator<StreamEvent> {
  const where = `stream "${entry.key}" of run ${runId}`;
  if (entry.attempt < place.attempt) return;
  if (entry.kind === "stream.failed") {
    const cause = decode(entry.error, `error of ${where}`);
    throw new DurableError("step-failed", `The ${where} failed: ${describeError(cause)}`, {
      cause,
      details: { key: entry.key },
    });
  }
  if (entry.attempt > place.attempt) {
    place.attempt = entry.attempt;
    place.next = 0;
    yield { type: "reset", attempt: entry.attempt };
  }
  const { attempt } = place;
  const from = entry.kind === "stream.chunks" ? entry.from : 0;
  for (const [i, value] of chunksOf(entry, where).entries()) {
    if (from + i < place.next) continue;
    place.next = from + i + 1;
    yield { type: "chunk", attempt, index: from + i, value: value() };
  }
}

/** Decoded one by one, as they are asked for. */
function chunksOf(entry: StreamEntry, where: string): readonly (() => unknown)[] {
  if (entry.kind === "stream.chunks")
    return entry.chunks.map((chunk) => () => decode(chunk, `chunk of ${where}`));
  // A fork that edited the stream has its chunks here.
  const edited = entry.kind === "stream.completed" ? entry.value : undefined;
  const list = edited === undefined ? [] : (decode(edited, `chunks of ${where}`) as unknown[]);
  return list.map((chunk) => () => chunk);
}

/** The stream a name means: its key, or a bare name where that is unique; `null` while nothing is recorded of it. */
function keyOf(journal: RunJournal, name: string): string | null {
  const keys = streamKeys(journal);
  // A path says all, whether or not anything is recorded there yet.
  if (keys.has(name) || name.includes("/")) return name;
  // Beside `feed#2` there is a `feed`, which may have no record yet.
  const found = [...keys].filter((key) => key.endsWith(`/${name}`));
  if (found.length <= 1) return found[0] ?? null;
  throw new DurableError(
    "unknown-step",
    `Run ${journal.runId} has several streams "${name}". Say which one: ${found.slice(0, 5).join(", ")}?`,
    { details: { name, near: found } },
  );
}

function streamKeys(journal: RunJournal): Set<string> {
  const keys = new Set<string>();
  for (const entry of journal.entries) if (isOfStream(entry)) keys.add(entry.key);
  return keys;
}

/** An attempt that failed before its first chunk is a record of its stream, too. */
function isOfStream(entry: Entry): entry is Extract<Entry, { key: string }> {
  return "key" in entry && callKind(entry) === "stream";
}

function endedWithout(journal: RunJournal, name: string): DurableError {
  const { runId, state } = journal;
  const keys = [...streamKeys(journal)];
  if (keys.some((key) => key === name || nameOf(key) === name)) {
    return new DurableError(
      state.end?.kind === "run.cancelled" ? "cancelled" : "run-failed",
      `Run ${runId} is over, and its stream "${name}" has no end.`,
    );
  }
  const known = keys.length === 0 ? "It recorded none." : `It has: ${keys.slice(0, 5).join(", ")}.`;
  return new DurableError("unknown-step", `Run ${runId} is over and has no stream "${name}". ${known}`);
}
