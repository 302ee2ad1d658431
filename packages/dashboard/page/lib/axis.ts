/** What the waterfall needs of the axis besides where a time is. */

import { foldGaps, positionOn, type Axis, type RowView } from "@durable/core/view";
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

/** About five labels, none inside a folded gap, each with room. */
export function ticksOf(axis: Axis): Tick[] {
  const ticks: Tick[] = [];
  for (let i = 0; i < 6; i++) {
    const at = i / 5;
    const part = axis.parts.find(({ to }) => at <= to) ?? axis.parts.at(-1);
    if (part === undefined || part.folded) continue;
    const share = part.to === part.from ? 0 : (at - part.from) / (part.to - part.from);
    const time = part.startedAt + share * (part.endedAt - part.startedAt);
    ticks.push({ at, text: duration(time - axis.startedAt) });
  }
  return ticks;
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
