/**
 * The names of objects. All that is known of a run stands in its log, `runs/<locator>/<life>/<slot>`; the rest can be
 * made from it again.
 *
 *     layout                                      what was written first, twice, to see whether conditions count
 *     runs/<locator>/<life>/<slot>                one record of a log, created once
 *     snapshots/<locator>                         the log as far as somebody has read it: saves reads, proves nothing
 *     index/<status>/<created, newest first>...   one for each run, by its status
 *     timers/<due>...                             one for each run that is suspended until a time
 *
 * A run that was deleted and begun anew has another life, so that nothing of one is taken for the other's.
 */

import { DurableError, show } from "../../values/errors.ts";
import { digest } from "../../values/hash.ts";
import type { RunHead, RunStatus } from "../../ports/storage.ts";

export const layoutKey = "layout";
export const runsPrefix = "runs/";

/** Of a record in its log. */
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

/** Locators come from a hash; one that does not could name what is not a run's. */
export function assertLocator(locator: string): void {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(locator))
    throw new DurableError("invalid-id", `${show(locator)} is not the locator of a run.`);
}

// As many as a number keeps exactly.
const digits = 15;
const largest = 10 ** digits - 1;

/** A time whose text has the order of the number. */
export function timeText(ms: number): string {
  return String(Math.min(largest, Math.max(0, Math.floor(ms)))).padStart(digits, "0");
}

/** The same, the latest first. */
export function newestFirst(ms: number): string {
  return String(largest - Number(timeText(ms))).padStart(digits, "0");
}

/** Eight characters that say whether it is worth to look. */
export function hint(name: string | null): string {
  return name === null ? "-" : digest(8, name);
}

/** What the key of an index object says. */
export interface Marker {
  readonly key: string;
  readonly place: Place;
  /** By which it is sorted, and which a page may end with. */
  readonly order: string;
  readonly wake: string;
  readonly workflow: string;
  readonly parent: string;
}

export function statusPrefix(status: RunStatus): string {
  return `index/${status}/`;
}

export const timersPrefix = "timers/";

/** The index objects of a run whose status and wake time were written at this slot. */
export function markersOf({ locator, generation, slot }: Place, head: RunHead): string[] {
  const wake = head.wakeAt === null ? "-" : timeText(head.wakeAt);
  const rest = `${locator}.${generation}.${slot}.${wake}.${hint(head.workflow)}.${hint(head.parent)}`;
  const byStatus = `${statusPrefix(head.status)}${newestFirst(head.createdAt)}.${rest}`;
  if (head.status !== "suspended" || head.wakeAt === null) return [byStatus];
  return [byStatus, `${timersPrefix}${wake}.${timeText(head.createdAt)}.${rest}`];
}

const markerParts = /^(?:index\/[a-z]+|timers)\/(.*)\.(.+)\.(\d+)\.(\d+)\.(\d{15}|-)\.([^.]+)\.([^.]+)$/;

/** `null` for a key that none of us wrote. */
export function readMarker(key: string): Marker | null {
  const [, time, locator, generation, slot, wake, workflow, parent] = markerParts.exec(key) ?? [];
  if (time === undefined || locator === undefined || wake === undefined) return null;
  if (workflow === undefined || parent === undefined) return null;
  const place = { locator, generation: Number(generation), slot: Number(slot) };
  return { key, place, order: `${time}.${locator}`, wake, workflow, parent };
}
