/**
 * With which batch a copy sends each blob. A storage gives the blobs of all batches from a position on, and names may be
 * encrypted, so the batch that names a blob is not known, only its chapter.
 *
 * copy-blobs.1. Each blob is sent with the last chapter that names it, at or before the batch that does. So a read from the
 *     beginning of any chapter gives what it gives in the source.
 */

import { limits } from "../values/limits.ts";
import type { NamedBlob, Storage } from "../ports/storage.ts";
import type { SourceRun } from "./source.ts";

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
    const middle = middleOf(source.chapters, from, to, sizeOf(bodies));
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

function sizeOf(bodies: readonly (readonly [string, string])[]): number {
  return bodies.reduce((sum, [, body]) => sum + body.length, 0);
}

/** The same blobs without the bodies that an ancestor has: the target has them already, and some keep them once for each run. */
export function withoutBodies(blobs: readonly NamedBlob[], known: ReadonlySet<string>): readonly NamedBlob[] {
  return blobs.map((blob) => (known.has(blob.name) ? { name: blob.name } : blob));
}
