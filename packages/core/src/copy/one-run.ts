/**
 * Copies one run, after all runs that it reads.
 *
 * copy-run.1. Texts of batches and blobs, the head and the note arrive as they are. Leases, quiet times and counts of starts
 *     stay behind.
 * copy-run.2. Batches are appended where the target ends. If the target has another batch at any position, the run is refused
 *     before anything of it is written.
 * copy-run.3. Until its last batch is there, the run is not due and has a lease of the copy, so that nothing drives it.
 * copy-run.4. A run counts as copied, or as there already, after the target has returned every batch and blob, and the
 *     head, and they are equal.
 * copy-run.5. A run without its first batches gets fillers in their place, and the target drops them at once.
 * copy-run.6. An append whose outcome is unknown is settled by reading: a copy never appends a batch twice.
 * copy-blobs.1. Each blob is sent with the last chapter that names it, at or before the batch that does. So a read from the
 *     beginning of any chapter gives what it gives in the source.
 */

import { DurableError } from "../values/errors.ts";
import { readsFrom } from "../ports/storage-kit.ts";
import type { AppendRequest, NamedBlob, ReadReply, Storage } from "../ports/storage.ts";
import { assertCopied, assertPrefix, hasFillers, refusal } from "./compare.ts";
import { filler, SourceRun } from "./source.ts";
import { limits } from "../values/limits.ts";

export interface CopyParts {
  readonly from: Storage;
  readonly to: Storage;
  /** Reads the target back. */
  readonly reader: Storage;
  readonly signal: AbortSignal | undefined;
  /** Resolves when a run that is read by this one is complete in the target. */
  readonly ancestor: (locator: string, reader: SourceRun) => Promise<void>;
  /** Resolves when the run may be created in the target. */
  readonly turn: () => Promise<void>;
  /** Called when the creation of the run is under way. */
  readonly created: () => void;
}

/** What became of one run. */
export interface CopiedRun {
  readonly source: SourceRun;
  /** How many batches were appended, and how many bytes they and their blobs have. */
  readonly batches: number;
  readonly bytes: number;
  /** The target shows a run that was deleted in the source, until `hide` is called. */
  readonly exposed: boolean;
  /** The source has grown meanwhile. */
  readonly grown: boolean;
}

/** The same for every copy, so that a copy that was interrupted can be continued at once. */
const owner = "copyRuns";
const leaseMs = 60_000;
const ended = new Set(["completed", "failed", "cancelled"]);

/** `null` when the source does not have the run any longer. */
export async function copyRun(locator: string, parts: CopyParts): Promise<CopiedRun | null> {
  const { from, reader } = parts;
  const reply = await from.read(locator);
  if (reply.length === 0) return null;
  const read = new SourceRun(locator, reply);
  // Waits for its turn, because its ancestors are created here if they are missing.
  if (read.head.ancestors.length > 0) await parts.turn();
  for (const ancestor of read.head.ancestors) await parts.ancestor(ancestor, read);
  const before = await reader.read(locator);
  const shows = (before.head?.runId ?? "") !== "";
  const source = shows ? read.shown() : read;
  assertPrefix(source, before);
  const start = before.length;
  const wrote = start < source.length ? await appendRest(source, before, parts) : nothing;
  if (wrote.batches === 0 && hasFillers(before, source.first)) await drop(source, parts);
  const after = wrote.batches === 0 ? [before] : [before, await reader.read(locator, start)];
  assertCopied(source, after);
  await copyNote(source, after.at(-1), parts);
  return {
    source,
    ...wrote,
    exposed: source.deleted && before.deleted !== true && !shows,
    grown:
      !ended.has(source.head.status) && (await from.read(locator, source.length)).length !== source.length,
  };
}

const nothing = { batches: 0, bytes: 0 } as const;

/** Appends what the target lacks. */
async function appendRest(
  source: SourceRun,
  before: ReadReply,
  { from, to, signal, turn, created }: CopyParts,
): Promise<{ readonly batches: number; readonly bytes: number }> {
  const { locator, first, length } = source;
  const start = before.length;
  const fills = start < first || hasFillers(before, first);
  if (fills && to.dropChapters === undefined) throw cannotDrop(source);
  const blobs = await placeBlobs(from, source, start);
  const inherited = blobs.size === 0 ? noNames : await namesOfAncestors(from, source);
  if (start > 0 && (await to.lease(locator, owner, leaseMs)) === null)
    throw refusal(source, before, "it is driven there, or was deleted");
  let bytes = 0;
  if (start === 0) await turn();
  try {
    for (let position = start; position < length; position++) {
      signal?.throwIfAborted();
      const sent = blobs.get(position) ?? [];
      const request = requestOf(source, position, withoutBodies(sent, inherited));
      const appending = appendOnce(to, request, sent);
      created();
      await appending;
      bytes += sizeOf(request, sent);
      if (fills && position >= first && (position === first || position === start))
        await to.dropChapters?.(locator, first);
    }
  } catch (error) {
    await to.release(locator, owner).catch(() => {});
    throw error;
  }
  return { batches: length - start, bytes };
}

function requestOf(source: SourceRun, position: number, blobs: readonly NamedBlob[]): AppendRequest {
  const isLast = position === source.length - 1;
  const { report, ...head } = source.headAt(position);
  return {
    locator: source.locator,
    position,
    batch: source.batchAt(position),
    ...(blobs.length > 0 && { blobs }),
    head,
    ...(position > 0 && { newMarks: true as const }),
    ...(isLast && typeof report === "string" && { report }),
    lease: isLast ? null : { owner, ttlMs: leaseMs },
  };
}

async function appendOnce(to: Storage, request: AppendRequest, blobs: readonly NamedBlob[]): Promise<void> {
  try {
    await to.append(request);
  } catch (error) {
    const { batches } = await to.read(request.locator, request.position);
    if (batches[0] === request.batch) return;
    // An ancestor has this blob in a part that the run does not read, so its body is needed here.
    if (batches.length > 0 || !DurableError.is(error, "storage-failed") || request.blobs === blobs)
      throw error;
    if (error.details["blob"] === undefined) throw error;
    await appendOnce(to, { ...request, blobs }, blobs);
  }
}

async function drop({ locator, first }: SourceRun, { to }: CopyParts): Promise<void> {
  await to.dropChapters?.(locator, first);
}

/** Names of blobs that the runs have which this one reads. */
async function namesOfAncestors(from: Storage, { head }: SourceRun): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const ancestor of head.ancestors) {
    const { blobs = {} } = await from.read(ancestor, readsFrom(head, ancestor));
    for (const name of Object.keys(blobs)) names.add(name);
  }
  return names;
}

const noNames: ReadonlySet<string> = new Set();

async function copyNote(
  { locator, length, reply: { blocked } }: SourceRun,
  after: ReadReply | undefined,
  { to }: CopyParts,
): Promise<void> {
  if (after?.length !== length || JSON.stringify(after.blocked) === JSON.stringify(blocked)) return;
  if (blocked !== undefined) return to.note?.(locator, blocked);
  // In the source the note is void, because the run was leased. So it is leased here, which counts no start.
  if ((await to.lease(locator, owner, leaseMs)) !== null) await to.lease(locator, owner, 0);
}

const encoder = new TextEncoder();

/** Bytes of a batch and its blobs. Fillers are not counted. */
function sizeOf({ batch }: AppendRequest, blobs: readonly NamedBlob[]): number {
  const texts = [batch === filler ? "" : batch, ...blobs.map(({ body = "" }) => body)];
  return texts.reduce((sum, text) => sum + encoder.encode(text).length, 0);
}

function cannotDrop(source: SourceRun): DurableError {
  return new DurableError(
    "invalid-options",
    `Run ${source.title} has dropped its first ${source.first} batches, and the target storage cannot drop chapters. Copy it to a storage that has dropChapters.`,
  );
}

type Bodies = Readonly<Record<string, string>>;

/** The blobs to send with each batch from a position on. */
export async function placeBlobs(
  storage: Storage,
  source: SourceRun,
  start: number,
): Promise<ReadonlyMap<number, readonly NamedBlob[]>> {
  const placed = new Map<number, readonly NamedBlob[]>();
  const bodiesFrom = async (position: number): Promise<Bodies> =>
    (await storage.read(source.locator, position)).blobs ?? {};
  const all = source.reply.blobs ?? {};
  const known = Object.keys(all).length === 0 || start <= source.first ? all : await bodiesFrom(start);

  const place = async (bodies: readonly (readonly [string, string])[], from: number, to: number) => {
    if (bodies.length === 0) return;
    const middle = middleOf(source.chapters, from, to, charactersOf(bodies));
    if (middle === null) {
      placed.set(
        from,
        bodies.map(([name, body]) => ({ name, body })),
      );
      return;
    }
    const later = await bodiesFrom(middle);
    const isLater = ([name]: readonly [string, string]): boolean => Object.hasOwn(later, name);
    await place(
      bodies.filter((blob) => !isLater(blob)),
      from,
      middle,
    );
    await place(bodies.filter(isLater), middle, to);
  };
  await place(Object.entries(known), Math.max(start, source.first), source.length);
  return placed;
}

/** Where to divide a part of a journal: at a chapter, or in the middle if its blobs are too large for one append. */
function middleOf(chapters: readonly number[], from: number, to: number, size: number): number | null {
  const inside = chapters.filter((begin) => begin > from && begin < to);
  if (inside.length > 0) return inside[inside.length >> 1] ?? null;
  return size > limits.batchBytes && to - from > 1 ? (from + to) >> 1 : null;
}

function charactersOf(bodies: readonly (readonly [string, string])[]): number {
  return bodies.reduce((sum, [, body]) => sum + body.length, 0);
}

/** The same blobs without the bodies that an ancestor has: the target has them already, and some keep them once for each run. */
export function withoutBodies(blobs: readonly NamedBlob[], known: ReadonlySet<string>): readonly NamedBlob[] {
  return blobs.map((blob) => (known.has(blob.name) ? { name: blob.name } : blob));
}
