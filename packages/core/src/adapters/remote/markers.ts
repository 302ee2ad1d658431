/**
 * Index objects of a run: written before the record that they belong to, deleted after the record that replaces them.
 * An object that is left over costs time, and a missing one hides the run from lists.
 */

import type { Bucket } from "../../ports/bucket.ts";
import { markersOf, readMarker, type Place } from "./layout.ts";
import { indexed, type State } from "./record.ts";
import type { RunLog } from "./run-log.ts";

/** Writes the index objects that a record at this place brings; returns their keys. */
export async function mark(bucket: Bucket, place: Place, state: State): Promise<readonly string[]> {
  if (state.since !== place.slot && state.blocked?.slot !== place.slot) return [];
  const keys = markersOf(place, indexed(state)).filter((key) => readMarker(key)?.place.slot === place.slot);
  await Promise.all(keys.map((key) => bucket.create(key, "")));
  return keys;
}

/**
 * Deletes index objects of a record that lost its slot. The record that has the slot may have the same ones: so they are
 * compared with the log as it was read after that. May fail, because it only saves work.
 */
export function unmade(bucket: Bucket, made: readonly string[], log: RunLog | null): Promise<void> {
  return remove(bucket, made, log === null ? [] : markersOf(log, indexed(log.state)));
}

/** Deletes the index objects of a state that are not those of the next. May fail, because it only saves work. */
export async function unmark(
  bucket: Bucket,
  run: Omit<Place, "slot">,
  [before, after]: readonly [State | null, State],
): Promise<void> {
  if (before === null || (before.since === after.since && before.blocked === after.blocked)) return;
  await remove(bucket, markersOf(run, indexed(before)), markersOf(run, indexed(after)));
}

async function remove(bucket: Bucket, keys: readonly string[], present: readonly string[]): Promise<void> {
  const outdated = keys.filter((key) => !present.includes(key));
  if (outdated.length > 0) await bucket.delete(outdated).catch(() => {});
}
