/** The time axis as columns: folded gaps get the width of their label, the rest is to scale. */

import { foldGaps, type Axis, type AxisPart, type RowView } from "@durable/core/inspect";
import { duration, roughly } from "./format.ts";
import { padEnd, widthOf } from "./width.ts";

interface Part extends AxisPart {
  /** The first column, and how many there are. */
  readonly at: number;
  readonly columns: number;
}

export interface Columns {
  readonly width: number;
  readonly parts: readonly Part[];
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Lays the axis of these rows over `width` columns. */
export function layAxis(
  rows: readonly RowView[],
  width: number,
  options: { now: number; fold: boolean },
): Columns {
  const axis = fewGaps(rows, options);
  const labels = axis.parts.map((part) => (part.folded ? widthOf(gapLabel(part, "≈")) + 1 : 0));
  const gaps = labels.reduce((sum, label) => sum + label, 0);
  // Too many gaps for the labels: all of them are to the same small size.
  const crowded = gaps > width / 2;
  const folded = axis.parts.filter((part) => part.folded).length;
  // A run that only waits: the whole axis is folded.
  const idle = axis.parts.every((part) => part.folded || part.endedAt === part.startedAt);
  const gap = (i: number): number =>
    idle
      ? Math.max(1, width / folded - 1)
      : crowded
        ? Math.max(1, Math.floor(width / 2 / folded))
        : (labels[i] ?? 0);
  const used = axis.parts.reduce((sum, part, i) => sum + (part.folded ? gap(i) : 0), 0);
  const shown = axis.parts.reduce((sum, part) => sum + (part.folded ? 0 : part.endedAt - part.startedAt), 0);
  let at = 0;
  const parts = axis.parts.map((part, i): Part => {
    const share = shown === 0 ? 1 : (part.endedAt - part.startedAt) / shown;
    const columns = part.folded ? gap(i) : Math.max(1, share * (width - used));
    const placed = { ...part, at, columns };
    at += columns;
    return placed;
  });
  return { width, parts, startedAt: axis.startedAt, endedAt: axis.endedAt };
}

/** A terminal has room for a few folded gaps: the longest ones. */
const mostGaps = 8;

function fewGaps(rows: readonly RowView[], options: { now: number; fold: boolean }): Axis {
  const axis = foldGaps(rows, options);
  const gaps = axis.parts.filter(({ folded }) => folded).map(({ startedAt, endedAt }) => endedAt - startedAt);
  const above = gaps.toSorted((a, b) => b - a)[mostGaps];
  return above === undefined ? axis : foldGaps(rows, { ...options, above });
}

/** The column of a time. */
export function columnOf({ parts, width }: Columns, time: number): number {
  const part = parts.find(({ endedAt }) => time < endedAt) ?? parts.at(-1);
  if (part === undefined) return 0;
  const length = part.endedAt - part.startedAt;
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, (time - part.startedAt) / length));
  return Math.min(width - 1, Math.floor(part.at + share * part.columns));
}

function gapLabel({ startedAt, endedAt }: AxisPart, mark: string): string {
  return `${mark}${roughly(endedAt - startedAt)}${mark}`;
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((ms) => [ms]);
const bigSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
const ticks = [...steps, ...bigSteps.map((seconds) => seconds * 1_000)];

/** One line of labels: time since the start, and folded gaps. */
export function axisLine(columns: Columns, ascii: boolean): string {
  let line = "";
  for (const part of columns.parts) {
    const at = Math.round(part.at);
    if (at < widthOf(line)) continue;
    line = padEnd(line, at);
    line += part.folded ? gapLabel(part, ascii ? "~" : "≈") : ticksOf(part, columns.startedAt, at);
  }
  return line.slice(0, columns.width);
}

/** Round times, as many as fit. */
function ticksOf(part: Part, start: number, at: number): string {
  const length = part.endedAt - part.startedAt;
  if (length === 0) return duration(part.startedAt - start);
  const apart = ticks.find((step) => (step / length) * part.columns >= 9) ?? length;
  let line = "";
  const from = Math.ceil((part.startedAt - start) / apart) * apart;
  for (let time = from; time <= part.endedAt - start; time += apart) {
    const column = Math.round(part.at - at + ((time + start - part.startedAt) / length) * part.columns);
    const label = time === 0 ? "0s" : tickLabel(time, apart);
    if (column < widthOf(line) || column + widthOf(label) > part.columns) continue;
    line = padEnd(line, column) + label;
  }
  return line;
}

/** As many units as tell the labels of one axis apart: `22h8m`, `22h8m5s`, `9m9.5s`. */
function longLabel(time: number, apart: number): string {
  if (apart >= 60_000 && time < 86_400_000) return duration(time).replaceAll(" ", "");
  const digits = apart < 1_000 ? Math.ceil(3 - Math.log10(apart)) : 0;
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "m"],
  ] as const;
  let [left, text] = [time, ""];
  for (const [size, name] of units) {
    if (left >= size || text !== "") text += `${Math.floor(left / size)}${name}`;
    left %= size;
  }
  const seconds = (left / 1_000).toFixed(digits);
  return apart >= 60_000 || Number(seconds) === 0 ? text : `${text}${seconds}s`;
}

function tickLabel(time: number, apart: number): string {
  if (time < 1_000) return `${Math.round(time)}ms`;
  if (time >= 60_000) return longLabel(time, apart);
  return apart < 1_000 ? `${Math.round(time / 100) / 10}s` : `${Math.round(time / 1_000)}s`;
}
