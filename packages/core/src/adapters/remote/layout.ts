/**
 * The names of objects. The log of a run, `runs/<locator>/<generation>/<slot>`, has everything about the run; all other
 * objects can be built again from it.
 *
 *     layout                                      written first, twice, to check that conditional writes work
 *     runs/<locator>/<generation>/<slot>          one record of a log, created once
 *     snapshots/<locator>                         a copy of the log up to some slot: saves reads, is never relied on
 *     bases/<locator>                             the older part of a large snapshot, which is not written each time
 *     index/<status>/<created, newest first>...   one for each run, by its status; one more for a run with a note
 *     timers/<due>...                             one for each run that is suspended until a time
 *     schedules/..., schedule-records/...         schedules, which are not part of a run (registers.ts)
 *     pauses/..., pause-records/...               the workflows that are paused (registers.ts)
 *
 * A run that is deleted and started again gets the next generation, so that the objects of the two cannot be confused.
 */

import { DurableError, show } from "../../values/errors.ts";
import { digest } from "../../values/hash.ts";
import type { RunHead, RunStatus } from "../../ports/storage.ts";

export const layoutKey = "layout";
export const runsPrefix = "runs/";

/** The place of a record in its log. */
export interface Place {
  readonly locator: string;
  readonly generation: number;
  readonly slot: number;
}

export function slotKey({ locator, generation, slot }: Place): string {
  return `${runsPrefix}${locator}/${generation}/${String(slot).padStart(10, "0")}`;
}

export function snapshotKey(locator: string): string {
  return `snapshots/${locator}`;
}

export function baseKey(locator: string): string {
  return `bases/${locator}`;
}

/** Locators are made from a hash. Any other text could name an object that does not belong to a run. */
export function assertLocator(locator: string): void {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(locator))
    throw new DurableError(
      "invalid-id",
      `${show(locator)} is not a valid locator. Use the locator of a run, not its id.`,
    );
}

// As many digits as a number represents exactly.
const digits = 15;
const largest = 10 ** digits - 1;

/** A time as text that sorts like the number. */
export function timeText(ms: number): string {
  return String(Math.min(largest, Math.max(0, Math.floor(ms)))).padStart(digits, "0");
}

/** A time as text that sorts the latest first. */
export function newestFirst(ms: number): string {
  return String(largest - Number(timeText(ms))).padStart(digits, "0");
}

/** Eight characters of a hash: enough to skip most objects that do not match a query without reading them. */
export function hint(name: string | null): string {
  return name === null ? "-" : digest(8, name);
}

/** The content of the key of an index object. */
export interface Marker {
  readonly key: string;
  readonly place: Place;
  /** The sort key, which is also the cursor of a page that ends here. */
  readonly order: string;
  readonly wake: string;
  /** Until when a driver holds the run, at least; empty if the marker does not say so. */
  readonly held: string;
  readonly workflow: string;
  readonly parent: string;
}

export function statusPrefix(status: RunStatus): string {
  return `index/${status}/`;
}

export const timersPrefix = "timers/";

/** What the index says about a run. */
interface Indexed {
  readonly head: RunHead;
  /** The slot that set the present status, wake time and `held`. */
  readonly since: number;
  readonly held?: number | undefined;
  /** The note of the run, if it is not void, with the slot that wrote it. */
  readonly blocked?: { readonly slot: number } | undefined;
}

/** The index objects of a run. */
export function markersOf(
  { locator, generation }: Omit<Place, "slot">,
  { head, since, held, blocked }: Indexed,
): string[] {
  // A run that is due at once is listed by the time since when it is.
  const wake = head.wakeAt === null ? "-" : timeText(head.wakeAt === 0 ? (head.dueSince ?? 0) : head.wakeAt);
  const restOf = (slot: number, until = ""): string =>
    `${locator}.${generation}.${slot}.${wake}${until}.${hint(head.workflow)}.${hint(head.parent)}`;
  const byStatus = (status: RunStatus, slot: number, until?: string): string =>
    `${statusPrefix(status)}${newestFirst(head.createdAt)}.${restOf(slot, until)}`;
  const markers = [byStatus(head.status, since, held === undefined ? "" : `h${timeText(held)}`)];
  if (head.status === "suspended" && head.wakeAt !== null)
    markers.push(`${timersPrefix}${wake}.${timeText(head.createdAt)}.${restOf(since)}`);
  if (blocked !== undefined) markers.push(byStatus("blocked", blocked.slot));
  return markers;
}

/** True while an index object is for the present state of its run. */
export function isPresent({ key, place }: Marker, { since, blocked }: Omit<Indexed, "head">): boolean {
  return (key.startsWith(statusPrefix("blocked")) ? blocked?.slot : since) === place.slot;
}

const markerParts =
  /^(?:index\/[a-z]+|timers)\/(.*)\.(.+)\.(\d+)\.(\d+)\.(\d{15}|-)(?:h(\d{15}))?\.([^.]+)\.([^.]+)$/;

/** `null` for a key that this library did not write. */
export function readMarker(key: string): Marker | null {
  const [, time, locator, generation, slot, wake, held = "", workflow, parent] = markerParts.exec(key) ?? [];
  if (time === undefined || locator === undefined || wake === undefined) return null;
  if (workflow === undefined || parent === undefined) return null;
  const place = { locator, generation: Number(generation), slot: Number(slot) };
  return { key, place, order: `${time}.${locator}`, wake, held, workflow, parent };
}
