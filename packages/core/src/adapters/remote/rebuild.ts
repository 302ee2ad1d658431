/**
 * Builds the index again from the logs: for a bucket that was restored or copied, or that lost objects. Also removes
 * what interrupted writes and deletions left.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { Family } from "./family.ts";
import type { Chapters } from "./chapters.ts";
import { isPresent, markersOf, readMarker, runsPrefix, timersPrefix } from "./layout.ts";
import { keysOf } from "./listing.ts";
import type { Found, Logs } from "./logs.ts";
import { indexed } from "./record.ts";
import type { RunLog } from "./run-log.ts";

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
  readonly chapters: Chapters;
}

export async function rebuild(parts: RebuildParts): Promise<Rebuilt> {
  let [runs, added, removed] = [0, 0, 0];
  for await (const [locator, keys] of byRun(parts.bucket)) {
    const { generation, log, live, made } = await mend(parts, locator);
    if (live) runs += 1;
    added += made;
    removed += await clear(parts, keys, generation);
    if (log !== null) removed += await clearDropped(parts, keys, log);
  }
  for (const prefix of ["index/", timersPrefix]) removed += await prune(parts, prefix);
  return { runs, added, removed };
}

/** Adds the missing index objects of a run; for a closed run, finishes its deletion. */
async function mend(
  { bucket, logs, family, chapters }: RebuildParts,
  locator: string,
): Promise<Found & { readonly live: boolean; readonly made: number }> {
  const { generation, log } = await logs.load(locator);
  if (log === null) return { generation, log, live: false, made: 0 };
  const { deleted, closed } = log.state;
  if (closed) {
    await family.free(log);
    return { generation: generation + 1, log: null, live: false, made: 0 };
  }
  await chapters.clear(log);
  if (deleted) return { generation, log, live: false, made: 0 };
  const made = await Promise.all(
    markersOf({ locator, generation }, indexed(log.state)).map((key) => bucket.create(key, "")),
  );
  return { generation, log, live: true, made: made.filter(Boolean).length };
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

/** Removes slots that were dropped long ago, and left by a process that was interrupted or emptied by it. */
async function clearDropped(
  { logs, family }: RebuildParts,
  keys: readonly string[],
  { locator, generation, state: { dropped } }: RunLog,
): Promise<number> {
  if (dropped === undefined || !family.isSettled(dropped.at)) return 0;
  const left: string[] = [];
  for (const key of keys) {
    const [, , each, slot] = key.split("/").map(Number);
    if (each !== generation || slot === undefined || slot === 0 || slot >= dropped.slot) continue;
    if (!(await logs.isForward({ locator, generation, slot }))) left.push(key);
  }
  await family.clear(left, dropped.at);
  return left.length;
}

/** Removes index objects of runs that are gone or have changed since. */
async function prune({ bucket, logs }: RebuildParts, prefix: string): Promise<number> {
  const old: string[] = [];
  for await (const key of keysOf(bucket, prefix)) {
    const marker = readMarker(key);
    if (marker === null) continue;
    const { locator, generation, slot } = marker.place;
    const { log, generation: current } = await logs.load(locator);
    const moved =
      log !== null && log.slot >= slot && (log.state.deleted || !isPresent(marker, indexed(log.state)));
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
