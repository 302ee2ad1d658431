/**
 * Builds the index again from the logs: for a bucket that was restored or copied, or that lost objects. Also removes
 * what interrupted writes and deletions left.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { Family } from "./family.ts";
import { markersOf, readMarker, runsPrefix, timersPrefix } from "./layout.ts";
import { keysOf } from "./listing.ts";
import type { Logs } from "./logs.ts";

/** The result of `RemoteStorage.rebuild`. */
export interface Rebuilt {
  /** How many runs there are. */
  readonly runs: number;
  /** Index objects that were missing. */
  readonly added: number;
  /** Objects that were no longer needed. */
  readonly removed: number;
}

export interface RebuildParts {
  readonly bucket: Bucket;
  readonly logs: Logs;
  readonly family: Family;
}

export async function rebuild(parts: RebuildParts): Promise<Rebuilt> {
  let [runs, added, removed] = [0, 0, 0];
  for await (const [locator, keys] of byRun(parts.bucket)) {
    const { generation, live, made } = await mend(parts, locator);
    if (live) runs += 1;
    added += made;
    removed += await clear(parts, keys, generation);
  }
  for (const prefix of ["index/", timersPrefix]) removed += await prune(parts, prefix);
  return { runs, added, removed };
}

/** Adds the missing index objects of a run; for a closed run, finishes its deletion. */
async function mend(
  { bucket, logs, family }: RebuildParts,
  locator: string,
): Promise<{ readonly generation: number; readonly live: boolean; readonly made: number }> {
  const { generation, log } = await logs.load(locator);
  if (log === null) return { generation, live: false, made: 0 };
  const { head, since, deleted, closed } = log.state;
  if (closed) {
    await family.free(log);
    return { generation: generation + 1, live: false, made: 0 };
  }
  if (deleted) return { generation, live: false, made: 0 };
  const made = await Promise.all(
    markersOf({ locator, generation, slot: since }, head).map((key) => bucket.create(key, "")),
  );
  return { generation, live: true, made: made.filter(Boolean).length };
}

/** Removes earlier generations, except their first and last slots, which keep delayed writers out. */
async function clear(
  { logs, family }: RebuildParts,
  keys: readonly string[],
  generation: number,
): Promise<number> {
  let cleared = 0;
  for (const [each, slots] of Map.groupBy(keys, (key) => Number(key.split("/")[2]))) {
    const left = slots.slice(1, -1);
    const [, locator = "", , last] = slots.at(-1)?.split("/") ?? [];
    if (each >= generation || left.length === 0) continue;
    const closing = await logs.last({ locator, generation: each, slot: Number(last) });
    if (closing === null) continue;
    await family.clear(left, closing.state.at);
    cleared += left.length;
  }
  return cleared;
}

/** Removes index objects of runs that are gone or have changed since. */
async function prune({ bucket, logs }: RebuildParts, prefix: string): Promise<number> {
  const old: string[] = [];
  for await (const key of keysOf(bucket, prefix)) {
    const marker = readMarker(key);
    if (marker === null) continue;
    const { locator, generation, slot } = marker.place;
    const { log, generation: current } = await logs.load(locator);
    const moved = log !== null && log.slot >= slot && (log.state.deleted || log.state.since !== slot);
    // A marker for a slot that is still free may belong to a write that is in progress.
    if (generation < current || moved) old.push(key);
  }
  if (old.length > 0) await bucket.delete(old);
  return old.length;
}

async function* byRun(bucket: Bucket): AsyncGenerator<readonly [locator: string, keys: readonly string[]]> {
  let locator = "";
  let keys: string[] = [];
  for await (const key of keysOf(bucket, runsPrefix)) {
    const [, next = ""] = key.split("/");
    if (next !== locator && keys.length > 0) {
      yield [locator, keys];
      keys = [];
    }
    locator = next;
    keys.push(key);
  }
  if (keys.length > 0) yield [locator, keys];
}
