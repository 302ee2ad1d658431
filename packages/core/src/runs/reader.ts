/**
 * Reads a stream while it is recorded, from any process, at any time.
 *
 * reader.1. A reader gets exactly what is recorded, in order, every index once. Silence of the producer has no meaning.
 * reader.2. Only its entry ends a stream. If a producer died, its chunks are followed by a reset when the next attempt
 *     records its first chunk.
 * reader.3. A slow or absent reader costs the producer nothing, because readers pull.
 * reader.4. While a reader waits, for more or for who reads it, it holds some MiB of chunks at most, whatever the journal has.
 */

import { callKind } from "../journal/kinds.ts";
import { decode } from "../values/codec/decode.ts";
import type { Entry } from "../journal/entry.ts";
import { DurableError, describeError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import { notFound, openRun } from "./lookup.ts";
import { assertOptions } from "../values/options.ts";
import { decodeEntry, type RunEntry } from "../journal/outcome.ts";
import { withStruck } from "../journal/taken-back.ts";
import { type EditedCall, Keys } from "./fork-keys.ts";

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
  /** The chapter of the run that has the stream; the current one by default. */
  readonly chapter?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** Characters of entries at which a page of a stream is closed. The entries after it are read again. */
const pageLength = 4e6;

type StreamEntry = Extract<Entry, { kind: "stream.chunks" | "stream.completed" | "stream.failed" }>;

export async function* readStream(
  host: Host,
  runId: string,
  name: string,
  options: ReadOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  assertOptions(options, "from attempt chapter signal", "run.stream");
  const { from = 0, attempt = 1, signal } = options;
  if (!Number.isInteger(from) || from < 0 || !Number.isInteger(attempt) || attempt < 1) {
    throw new DurableError(
      "invalid-options",
      `run.stream("${name}") of run ${runId} needs integers: \`from\` is 0 or more, \`attempt\` 1 or more.`,
    );
  }
  const open = (): Promise<RunJournal> => openRun(host, runId, options.chapter);
  let journal = await open();
  let { chapter } = journal;
  const { createdAt } = journal.state.summary;
  const place = { attempt, next: from };
  const keys = new Set<string>();
  let seen = 0;
  let key: string | null = null;
  for (;;) {
    // The id may have been deleted and used again.
    if (journal.deleted || journal.state.summary.createdAt !== createdAt) throw notFound(runId);
    // A stream that is not complete when its chapter ends stays so. One that has not begun may be in the next.
    if (journal.chapter !== chapter && key !== null) throw endedWithout(journal, name, keys, true);
    ({ chapter } = journal);
    for (const entry of journal.entries) if (isOfStream(entry)) keys.add(entry.key);
    key ??= keyOf(runId, name, keys);
    // By position, because a retry removes entries that were seen.
    const start = seen;
    let room = pageLength;
    const page = journal.entries.filter((entry) => {
      if (entry.seq <= start || (room < 0 && entry.seq > seen)) return false;
      seen = Math.max(seen, entry.seq);
      if (!isOf(entry, key)) return false;
      room -= JSON.stringify(entry).length;
      return true;
    }) as StreamEntry[];
    const ended = journal.state.end !== null || journal.past ? endedWithout(journal, name, keys) : null;
    journal.forget();
    for (const entry of page) {
      yield* eventsOf(entry, place, runId);
      if (entry.kind === "stream.completed") return;
    }
    if (room >= 0) {
      if (ended !== null) throw ended;
      if (signal?.aborted === true) return;
      // A deletion does not wake the reader, so it checks at intervals.
      await host.changed(journal, host.world.now() + host.leaseMs, signal);
      try {
        await journal.refresh();
        continue;
      } catch (error) {
        // A value may share a part with one that was let go.
        if (!DurableError.is(error, "corrupt")) throw error;
      }
    }
    journal = await open();
  }
}

function isOf(entry: Entry, key: string | null): entry is StreamEntry {
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

/** Functions that decode one chunk each, so that a reader decodes only what it pulls. */
function chunksOf(entry: StreamEntry, where: string): readonly (() => unknown)[] {
  if (entry.kind === "stream.chunks")
    return entry.chunks.map((chunk) => () => decode(chunk, `chunk of ${where}`));
  // If a fork edited the stream, its chunks are in the end entry.
  const edited = entry.kind === "stream.completed" ? entry.value : undefined;
  const list = edited === undefined ? [] : (decode(edited, `chunks of ${where}`) as unknown[]);
  return list.map((chunk) => () => chunk);
}

/** The key of the stream: the name itself if it is a key, or the only key with that name; `null` before its first record. */
function keyOf(runId: string, name: string, keys: ReadonlySet<string>): string | null {
  // A path is a complete key, even if nothing is recorded there yet.
  if (keys.has(name) || name.includes("/")) return name;
  // Only `/name` matches: if there is a `feed#2`, the bare name means `feed`, which may have no record yet.
  const found = [...keys].filter((key) => key.endsWith(`/${name}`));
  if (found.length <= 1) return found[0] ?? null;
  throw new DurableError(
    "unknown-step",
    `Run ${runId} has several streams "${name}". Use one of these keys: ${found.slice(0, 5).join(", ")}.`,
    { details: { name, near: found } },
  );
}

/** Also true for an attempt that failed before its first chunk. */
function isOfStream(entry: Entry): entry is Extract<Entry, { key: string }> {
  return "key" in entry && callKind(entry) === "stream";
}

function endedWithout(
  { runId, state }: RunJournal,
  name: string,
  all: ReadonlySet<string>,
  begun = false,
): DurableError {
  const keys = [...all];
  if (begun || keys.some((key) => key === name || nameOf(key) === name)) {
    return new DurableError(
      state.end?.kind === "run.cancelled" ? "cancelled" : "run-failed",
      `Run ${runId} ${begun ? "began its next chapter" : "ended"} before its stream "${name}" was complete. Fork the run to produce the stream again.`,
    );
  }
  const known = keys.slice(0, 5).join(", ") || "none";
  return new DurableError(
    "unknown-step",
    `Run ${runId} has ended and has no stream "${name}". Its streams: ${known}.`,
  );
}

/** Which part of a run to read. */
export interface ChapterOptions {
  /** The number of the chapter, from 1; the current one by default. */
  readonly chapter?: number | undefined;
}

/** Which entries of a run to read. */
export interface EntriesOptions extends ChapterOptions {
  /** Only entries with a higher `seq`; 0 by default. */
  readonly after?: number | undefined;
  /** How many entries at most; all by default. Only these are decoded. */
  readonly limit?: number | undefined;
  /**
   * True adds entries that a retry has struck, each with `struck`. They no longer count for the run, but happened and were
   * paid for. False by default.
   */
  readonly struck?: boolean | undefined;
}

/** What the edits of a fork would replace. */
export interface EditedCalls {
  /** The chapter that has these calls. */
  readonly chapter: number;
  /** In the order of the names. */
  readonly calls: readonly EditedCall[];
}

export async function entriesOf(host: Host, runId: string, options: EntriesOptions): Promise<RunEntry[]> {
  assertOptions(options, "chapter after limit struck", "run.entries");
  const { after = 0, limit } = options;
  const journal = await openRun(host, runId, options.chapter);
  const entries = options.struck === true ? withStruck(journal) : journal.entries;
  const page = entries.filter((entry) => entry.seq > after).slice(0, limit);
  return page.map((entry) => decodeEntry(entry, runId));
}

export async function editedCalls(host: Host, runId: string, names: readonly string[]): Promise<EditedCalls> {
  const journal = await openRun(host, runId);
  const keys = new Keys(journal);
  return { chapter: journal.chapter, calls: names.map((name) => keys.edited(name)) };
}

export async function dropChapters(host: Host, runId: string): Promise<void> {
  const { locator, state } = await openRun(host, runId);
  const storage = await host.storage();
  if (storage.dropChapters === undefined)
    throw new DurableError("invalid-options", "This storage keeps all chapters.");
  await storage.dropChapters(locator, state.summary.chapter ?? 0);
}
