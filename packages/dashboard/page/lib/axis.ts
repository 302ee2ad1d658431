/**
 * The axis of the timeline: where a time is, its labels, and what is in view.
 *
 * axis.1. Times count from the beginning of the run. What a fork took from the journal stands in a strip left of that.
 * axis.2. A label has as many digits as its distance to the next one needs, so two labels never say the same.
 * axis.3. Labels do not overlap: neither two ticks, nor two names of gaps.
 *
 * Proven in test/axis.test.ts.
 */

import { foldGaps, positionOn, type Axis, type AxisPart, type RowView } from "@durable/core/inspect";
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
  /** False where there is no room for its text. */
  readonly named: boolean;
}

/** The part of the axis that is in view, as times. */
export interface Zoom {
  readonly from: number;
  readonly to: number;
}

export interface ScaleOptions {
  readonly now: number;
  readonly fold: boolean;
  /** When the run began. */
  readonly origin: number;
  readonly zoom?: Zoom | null | undefined;
}

/** Times as places on the track, from 0 to 1. */
export interface Scale {
  readonly origin: number;
  /** The share of the track for what came from the journal; 0 where nothing did, and while zoomed. */
  readonly strip: number;
  /** Of own work, the part in view. */
  readonly axis: Axis;
  readonly view: readonly [from: number, to: number];
  /** Places out of view are below 0 or above 1. */
  readonly at: (time: number) => number;
  /** The time at a place of the track. */
  readonly timeAt: (place: number) => number;
}

const stripWidth = 0.12;

type Timed = Pick<Row, "startedAt" | "endedAt" | "attempts" | "kind" | "fromJournal">;

export function scaleOf(rows: readonly Timed[], { now, fold, origin, zoom }: ScaleOptions): Scale {
  const old = rows.filter(({ startedAt }) => startedAt < origin);
  const own = rows.flatMap((row): Timed[] => {
    if ((row.endedAt ?? now) < origin || row.fromJournal === true) return [];
    return [row.startedAt < origin ? { ...row, startedAt: origin } : row];
  });
  // What has not begun anything yet has an axis, too.
  const anchor: Timed = { kind: "branch", startedAt: origin, endedAt: origin, attempts: [] };
  const axis = axisOf([...own, anchor], { now, fold });
  const past = axisOf(old, { now: origin, fold });
  const isZoomed = zoom !== null && zoom !== undefined && zoom.to > zoom.from;
  const strip = old.length === 0 || isZoomed ? 0 : stripWidth;
  const view: [number, number] = isZoomed ? [positionOn(axis, zoom.from), positionOn(axis, zoom.to)] : [0, 1];
  if (view[1] - view[0] < 1e-9) [view[0], view[1]] = [0, 1];
  const [from, to] = view;
  return {
    origin,
    strip,
    axis,
    view,
    at: (time) => {
      if (time < origin) return isZoomed ? -1 : Math.min(1, positionOn(past, time)) * strip * 0.92;
      return strip + ((positionOn(axis, time) - from) / (to - from)) * (1 - strip);
    },
    timeAt: (place) => timeOn(axis, from + (Math.max(0, place - strip) / (1 - strip)) * (to - from)),
  };
}

function axisOf(rows: readonly Timed[], options: { readonly now: number; readonly fold: boolean }): Axis {
  return foldGaps(rows as unknown as readonly RowView[], options);
}

function timeOn({ parts, startedAt }: Axis, place: number): number {
  const part = parts.find(({ to }) => place <= to) ?? parts.at(-1);
  if (part === undefined) return startedAt;
  const share = part.to === part.from ? 0 : (place - part.from) / (part.to - part.from);
  return part.startedAt + Math.min(1, Math.max(0, share)) * (part.endedAt - part.startedAt);
}

/** The least distance of two ticks. */
const apart = 0.1;

/** Round times, about six in view; after a folded gap they count on. */
export function ticksOf(scale: Scale): Tick[] {
  const shown = scale.axis.parts.filter((part) => !part.folded && inView(scale, part));
  const [from, to] = scale.view;
  const length = shown.reduce((sum, part) => sum + lengthInView(part, from, to), 0);
  const step = roundStep(length / 6);
  const ticks: Tick[] = [];
  const add = (time: number): void => {
    const at = scale.at(time + scale.origin);
    if (at < -1e-9 || at > 1 || at - (ticks.at(-1)?.at ?? -1) < apart) return;
    const text = tickText(time, step);
    if (ticks.at(-1)?.text !== text) ticks.push({ at, text });
  };
  for (const part of shown) {
    const [first, last] = [part.startedAt - scale.origin, part.endedAt - scale.origin];
    // Of a part without length there is one tick.
    if (last - first < step) add(first);
    for (let n = Math.ceil(first / step); n * step <= last && ticks.length < 40; n++) add(n * step);
  }
  return ticks;
}

function inView({ view: [from, to] }: Scale, part: AxisPart): boolean {
  return part.to >= from && part.from <= to;
}

function lengthInView({ from, to, startedAt, endedAt }: AxisPart, low: number, high: number): number {
  const width = to - from;
  const seen = Math.max(0, Math.min(to, high) - Math.max(from, low));
  return width === 0 ? 0 : (seen / width) * (endedAt - startedAt);
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000] as const;
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 28, 91, 364].map((n) => n * day),
];

/** 1, 2 or 5 times a power of ten, in milliseconds; in seconds, minutes and hours what divides them. */
function roundStep(ms: number): number {
  const found = steps.find((step) => step >= ms);
  if (ms > second / 2) return found ?? 364 * day;
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 0.001)));
  return power * ([1, 2, 5, 10].find((n) => n * power >= ms) ?? 10);
}

/** A time after the beginning: 20 ms, 5 s, 0.5 s, 2:05, 1:02:05, 2 d 4 h. */
export function tickText(ms: number, step: number): string {
  const time = Math.max(0, ms);
  if (time < 0.000_5) return "0 s";
  if (time < second && step < second) return `${Number(time.toPrecision(12)).toLocaleString("en")} ms`;
  const digits = Math.max(0, Math.min(6, Math.ceil(3 - Math.log10(step) - 1e-9)));
  if (time < minute) return `${(time / second).toFixed(digits)} s`;
  if (step >= hour) return duration(time);
  const rest = (time % minute) / second;
  const seconds = rest.toFixed(digits).padStart(digits === 0 ? 2 : digits + 3, "0");
  const minutes = Math.floor(time / minute) % 60;
  if (time < hour) return `${minutes}:${seconds}`;
  const whole = Math.floor(time / hour);
  const [days, hours] = [Math.floor(whole / 24), whole % 24];
  const head = days === 0 ? `${hours}` : `${days} d ${hours}`;
  return `${head}:${String(minutes).padStart(2, "0")}:${seconds}`;
}

/** Idle time that is drawn shorter than it was. */
export function gapsOf(scale: Scale): Gap[] {
  let free = -1;
  return scale.axis.parts
    .filter((part) => part.folded && inView(scale, part))
    .map(({ startedAt, endedAt }): Gap => {
      const [from, to] = [Math.max(scale.strip, scale.at(startedAt)), Math.min(1, scale.at(endedAt))];
      const text = duration(endedAt - startedAt);
      const half = 0.008 * text.length + 0.01;
      const middle = (from + to) / 2;
      const named = middle - half >= free;
      if (named) free = middle + half;
      return { from, to, text, named };
    });
}

/** Left and width of a bar, in percent; `null` when it is out of view. */
export function span(scale: Scale, start: number, end: number): { left: string; width: string } | null {
  const [from, to] = [scale.at(start), scale.at(Math.max(start, end))];
  if (to < -1e-9 || from > 1 + 1e-9) return null;
  const left = Math.max(0, from);
  const width = Math.max(0, Math.min(1, to) - left);
  return { left: `${(left * 100).toFixed(3)}%`, width: `${(width * 100).toFixed(3)}%` };
}
