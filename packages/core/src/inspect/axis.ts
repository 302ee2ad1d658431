/** The time axis of a run. Idle time is folded, so that a sleep of days does not hide seconds of work. */

import type { RowView } from "./row.ts";

/** A part of the axis: some time, and where it is between 0 and 1. */
export interface AxisPart {
  readonly startedAt: number;
  readonly endedAt: number;
  /** True for idle time that is drawn shorter than it was. */
  readonly folded: boolean;
  readonly from: number;
  readonly to: number;
}

/** The time axis of a run, from 0 to 1. */
export interface Axis {
  readonly startedAt: number;
  readonly endedAt: number;
  /** In order, without gaps. */
  readonly parts: readonly AxisPart[];
}

/** Options of `foldGaps`. */
export interface FoldOptions {
  /** Where the axis ends for rows that are open; the end of the last row by default. */
  readonly now?: number | undefined;
  /** Idle time longer than this is folded, in milliseconds; half of all work by default, and at least 1,000. */
  readonly above?: number | undefined;
  /** False draws all time at the same scale. */
  readonly fold?: boolean | undefined;
}

/** How much of the axis one folded gap takes, and all of them together. */
const gapWidth = 0.06;
const gapsAtMost = 0.4;

type Span = readonly [number, number];

/** The axis of these rows, with idle gaps folded: time in which no attempt ran. */
export function foldGaps(rows: readonly RowView[], options: FoldOptions = {}): Axis {
  const spanOf = ({ startedAt, endedAt }: RowView): Span => [startedAt, endedAt ?? options.now ?? startedAt];
  const spans = rows.map(spanOf);
  let [start, end] = [Infinity, -Infinity];
  for (const [from, to] of spans) {
    start = Math.min(start, from);
    end = Math.max(end, to);
  }
  if (start === Infinity) [start, end] = [options.now ?? 0, options.now ?? 0];
  const work = merge(rows.flatMap((row) => workOf(row, options.now)));
  // Where only children work, their time is that of the run.
  const busy = work.length > 0 ? work : merge(rows.filter(({ kind }) => kind === "child").map(spanOf));
  const worked = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  const above = options.fold === false ? Infinity : (options.above ?? Math.max(1_000, worked / 2));
  return { startedAt: start, endedAt: end, parts: scale(cut({ start, end, busy, above })) };
}

/** Where a time is on the axis, between 0 and 1. */
export function positionOn(axis: Axis, time: number): number {
  const part = axis.parts.find(({ endedAt }) => time <= endedAt) ?? axis.parts.at(-1);
  if (part === undefined) return 0;
  const length = part.endedAt - part.startedAt;
  const share = length === 0 ? 0 : (time - part.startedAt) / length;
  return part.from + Math.min(1, Math.max(0, share)) * (part.to - part.from);
}

/** How long any attempt ran, in milliseconds: attempts at the same time count once. */
export function busyMs(rows: readonly RowView[], now?: number): number {
  return merge(rows.flatMap((row) => workOf(row, now))).reduce((sum, [from, to]) => sum + to - from, 0);
}

/** Times in which an attempt of a row ran. Waits, and the pause before a retry, are idle. */
function workOf({ attempts }: RowView, now: number | undefined): Span[] {
  return attempts.map(({ startedAt, endedAt }) => [startedAt, endedAt ?? Math.max(startedAt, now ?? 0)]);
}

function merge(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

type Piece = Pick<AxisPart, "startedAt" | "endedAt" | "folded">;

/** Cuts the time at gaps that are long enough to be folded. */
function cut({
  start,
  end,
  busy,
  above,
}: {
  start: number;
  end: number;
  busy: Span[];
  above: number;
}): Piece[] {
  const pieces: Piece[] = [];
  let shown = start;
  let idleSince = start;
  for (const [from, to] of [...busy, [end, end] as const]) {
    if (from - idleSince > above) {
      if (idleSince > shown) pieces.push({ startedAt: shown, endedAt: idleSince, folded: false });
      pieces.push({ startedAt: idleSince, endedAt: from, folded: true });
      shown = from;
    }
    idleSince = Math.max(idleSince, to);
  }
  if (end > shown || pieces.length === 0) pieces.push({ startedAt: shown, endedAt: end, folded: false });
  return pieces;
}

/** Gives every piece its share of the axis. */
function scale(pieces: readonly Piece[]): AxisPart[] {
  const gaps = pieces.filter(({ folded }) => folded).length;
  const shown = pieces.reduce(
    (sum, { startedAt, endedAt, folded }) => sum + (folded ? 0 : endedAt - startedAt),
    0,
  );
  const gap = gaps === 0 ? 0 : shown === 0 ? 1 / gaps : Math.min(gapWidth, gapsAtMost / gaps);
  let from = 0;
  return pieces.map((piece) => {
    const length = piece.endedAt - piece.startedAt;
    const share = piece.folded ? gap : shown === 0 ? 1 - gap * gaps : (length / shown) * (1 - gap * gaps);
    const part = { ...piece, from, to: Math.min(1, from + share) };
    from = part.to;
    return part;
  });
}
