/** What the waterfall needs of the axis besides where a time is. */

import { foldGaps, positionOn, type Axis, type RowView } from "@durable/core/inspect";
import type { Row } from "../../src/api.ts";
import { duration } from "./format.ts";

export interface Tick {
  readonly at: number;
  readonly text: string;
}

export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The axis of these rows. Values are not needed for it. */
export function axisOf(
  rows: readonly Row[],
  options: { readonly now: number; readonly fold: boolean },
): Axis {
  return foldGaps(rows as unknown as readonly RowView[], options);
}

/** Round times about five per axis; after a folded gap only where the work goes on. */
export function ticksOf(axis: Axis): Tick[] {
  const shown = axis.parts.filter(({ folded }) => !folded);
  const length = shown.reduce((sum, { startedAt, endedAt }) => sum + endedAt - startedAt, 0);
  const step = roundStep(length / 5);
  const ticks: Tick[] = [];
  const add = (time: number): void => {
    const at = positionOn(axis, time);
    // Two labels need room.
    if (at - (ticks.at(-1)?.at ?? -1) >= 0.11) ticks.push({ at, text: duration(time - axis.startedAt) });
  };
  for (const [i, { startedAt, endedAt }] of shown.entries()) {
    if (i > 0) add(startedAt);
    else for (let time = startedAt; time <= endedAt; time += step) add(time);
  }
  return ticks;
}

/** 1, 2 or 5 times a power of ten, in milliseconds; in seconds, minutes and hours what divides them. */
function roundStep(ms: number): number {
  const [second, minute, hour] = [1_000, 60_000, 3_600_000];
  const large = [5, 10, 15, 30].flatMap((n) => [n * second, n * minute]);
  const found = [...large, minute, 2 * minute, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour]
    .toSorted((a, b) => a - b)
    .find((step) => step >= ms);
  if (ms > 2 * second && found !== undefined) return found;
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 0.001)));
  return power * ([1, 2, 5, 10].find((n) => n * power >= ms) ?? 10);
}

export function gapsOf(axis: Axis): Gap[] {
  return axis.parts
    .filter(({ folded }) => folded)
    .map(({ from, to, startedAt, endedAt }) => ({
      from,
      to,
      text: duration(endedAt - startedAt).replace(/ \d+ \w+$/, ""),
    }));
}

/** Left and width of a bar, in percent. */
export function span(axis: Axis, start: number, end: number): { left: string; width: string } {
  const from = positionOn(axis, start);
  const to = positionOn(axis, Math.max(start, end));
  return { left: `${(from * 100).toFixed(3)}%`, width: `${((to - from) * 100).toFixed(3)}%` };
}
