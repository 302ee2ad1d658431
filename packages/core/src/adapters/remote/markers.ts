/**
 * Index objects of a run: written before the record that they belong to, deleted after the record that replaces them.
 * An object that is left over costs time, and a missing one hides the run from lists.
 */

import type { Bucket } from "../../ports/bucket.ts";
import { markersOf, readMarker, type Place } from "./layout.ts";
import { indexed, type State } from "./record.ts";

/** Writes the index objects that a record at this place brings. */
export async function mark(bucket: Bucket, place: Place, state: State): Promise<void> {
  if (state.since !== place.slot && state.blocked?.slot !== place.slot) return;
  const keys = markersOf(place, indexed(state)).filter((key) => readMarker(key)?.place.slot === place.slot);
  await Promise.all(keys.map((key) => bucket.create(key, "")));
}

/** Deletes the index objects of a state that are not those of the next. May fail, because it only saves work. */
export async function unmark(
  bucket: Bucket,
  run: Omit<Place, "slot">,
  [before, after]: readonly [State | null, State],
): Promise<void> {
  if (before === null || (before.since === after.since && before.blocked === after.blocked)) return;
  const present = new Set(markersOf(run, indexed(after)));
  const outdated = markersOf(run, indexed(before)).filter((key) => !present.has(key));
  if (outdated.length > 0) await bucket.delete(outdated).catch(() => {});
}
