/** The waterfall: one line per call, bars on an axis whose idle time is folded, and what each line took, used and cost. */

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { ChildSum, Row } from "../../src/api.ts";
import { gapsOf, scaleOf, span, ticksOf, type Gap, type Scale, type Tick, type Zoom } from "../lib/axis.ts";
import { cost, count, duration, fullTime, plural, turnText } from "../lib/format.ts";
import type { ShownRow } from "../lib/rows.ts";
import { Virtual } from "./virtual.tsx";

const lineHeight = 32;

export interface WaterfallProps {
  readonly rows: readonly ShownRow[];
  /** When the run began. */
  readonly origin: number;
  readonly now: number;
  /** True while the run goes on. */
  readonly isOpen: boolean;
  readonly fold: boolean;
  readonly zoom: Zoom | null;
  /** What children have used, by run. */
  readonly sums: Readonly<Record<string, ChildSum>>;
  readonly chosen: string;
  readonly onChoose: (row: ShownRow) => void;
  readonly onToggle: (row: ShownRow) => void;
  readonly onZoom: (zoom: Zoom | null) => void;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
}

export function Waterfall(props: WaterfallProps): JSX.Element {
  const { rows, now, fold, chosen, origin, zoom, isOpen } = props;
  const isGrowing = isOpen || rows.some(({ endedAt }) => endedAt === null);
  const scale = useMemo(
    () => scaleOf(rows, { now, fold, origin, zoom }),
    [rows, fold, origin, zoom?.from, zoom?.to, isGrowing ? now : 0],
  );
  const index = rows.findIndex(({ id }) => id === chosen);
  const [gaps, ticks] = useMemo(() => [gapsOf(scale), ticksOf(scale)], [scale]);
  const place = isGrowing ? scale.at(now) : -1;
  return (
    <>
      <AxisLine scale={scale} gaps={gaps} ticks={ticks} now={place} onZoom={props.onZoom} />
      <Virtual
        class="wf"
        role="listbox"
        label="Timeline"
        count={rows.length}
        height={lineHeight}
        shown={index}
        active={index === -1 ? undefined : `row-${index}`}
        onKeyDown={props.onKeyDown}
        behind={<Behind scale={scale} gaps={gaps} ticks={ticks} now={place} />}
        render={(i) => {
          const row = rows[i];
          return row === undefined ? null : (
            <Line key={row.id} {...props} row={row} scale={scale} index={i} />
          );
        }}
      />
      <Legend rows={rows} gaps={gaps} scale={scale} />
    </>
  );
}

interface Lines {
  readonly scale: Scale;
  readonly gaps: readonly Gap[];
  readonly ticks: readonly Tick[];
  /** Where the present is; out of 0 to 1 when it is not shown. */
  readonly now: number;
}

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;
const isSeen = (place: number): boolean => place >= 0 && place <= 1;

/** Lines over the whole height: ticks, gaps, the present, and where the work of a fork begins. */
function Behind({ scale, gaps, ticks, now }: Lines): JSX.Element {
  return (
    <div class="behind" role="presentation">
      {ticks.map(({ at }) => (
        <i key={at} class="tick" style={{ left: percent(at) }} />
      ))}
      {gaps.map(({ from, to }) => (
        <i key={from} class="gap" style={{ left: percent(from), width: percent(to - from) }} />
      ))}
      {scale.strip > 0 && <i class="begin" style={{ left: percent(scale.strip) }} />}
      {isSeen(now) && <i class="now" style={{ left: percent(now) }} />}
    </div>
  );
}

/** The least part of the track that a drag zooms into. */
const leastDrag = 0.01;

/** Dragging over the axis zooms in. */
function useDrag(scale: Scale, onZoom: WaterfallProps["onZoom"]) {
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const track = useRef<HTMLDivElement>(null);
  const [from = 0, to = 0] = drag?.toSorted((a, b) => a - b) ?? [];
  const placeOf = (event: PointerEvent): number => {
    const { left, width } = track.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.min(1, Math.max(scale.strip, (event.clientX - left) / width));
  };
  return {
    from,
    to,
    handlers: {
      ref: track,
      onPointerDown: (event: PointerEvent) => {
        track.current?.setPointerCapture(event.pointerId);
        setDrag([placeOf(event), placeOf(event)]);
      },
      onPointerMove: (event: PointerEvent) => drag !== null && setDrag([drag[0], placeOf(event)]),
      onPointerUp: () => {
        if (to - from >= leastDrag) onZoom({ from: scale.timeAt(from), to: scale.timeAt(to) });
        setDrag(null);
      },
      onPointerCancel: () => setDrag(null),
      onDblClick: () => onZoom(null),
    },
  };
}

type AxisProps = Lines & Pick<WaterfallProps, "onZoom">;

function AxisLine({ scale, gaps, ticks, now, onZoom }: AxisProps): JSX.Element {
  const { from, to, handlers } = useDrag(scale, onZoom);
  // The word for the present is as wide on a narrow track.
  const room = window.matchMedia("(max-width: 900px)").matches ? 0.36 : 0.13;
  const hasRoom = ({ at }: Tick): boolean => at <= 0.97 && (!isSeen(now) || Math.abs(at - now) > room);
  return (
    <div class="axis" aria-hidden="true">
      <span />
      <div class="scale" title="Drag to zoom, double-click for all" {...handlers}>
        {ticks.filter(hasRoom).map(({ at, text }) => (
          <span key={at} class={at < scale.strip + 0.02 ? "start" : ""} style={{ left: percent(at) }}>
            {text}
          </span>
        ))}
        {gaps
          .filter(({ named }) => named)
          .map(({ from: left, to: right, text }) => (
            <b key={left} style={{ left: percent((left + right) / 2) }}>
              {text}
            </b>
          ))}
        {scale.strip > 0 && (
          <b class="past" title="What came from the journal of the parent">
            ↺
          </b>
        )}
        {isSeen(now) && (
          <em class={now > 0.94 ? "end" : ""} style={{ left: percent(now) }}>
            now
          </em>
        )}
        {to > from && <i class="drag" style={{ left: percent(from), width: percent(to - from) }} />}
      </div>
      <span>time</span>
      <span>tokens</span>
      <span>cost</span>
    </div>
  );
}

type LineProps = WaterfallProps & { readonly row: ShownRow; readonly scale: Scale; readonly index: number };

function Line({ row, scale, index, now, chosen, sums, onChoose, onToggle }: LineProps): JSX.Element {
  const { id, depth, key } = row;
  const sum = row.child === undefined ? undefined : sums[row.child];
  const isRunning = isRunningNow(row);
  const classes = [
    "row",
    id === chosen ? "sel" : "",
    row.struck === undefined ? "" : "struck",
    row.run !== undefined || (row.open === true && row.child !== undefined) ? "kid" : "",
    row.undoes === true ? "undoes" : "",
  ];
  return (
    <div
      id={`row-${index}`}
      role="option"
      aria-selected={id === chosen}
      class={classes.filter(Boolean).join(" ")}
      onClick={() => onChoose(row)}
    >
      <span class="nm" style={{ paddingLeft: `${Math.min(depth, 8) * 16}px` }}>
        {row.open !== undefined && (
          <span
            class="arrow"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onToggle(row);
            }}
          >
            {row.open ? "▾" : "▸"}
          </span>
        )}
        <span class={isWork(row) ? "" : "soft"} title={key}>
          <span class="vh">{row.kind} </span>
          {row.undoes === true && "↶ "}
          {nameOf(row)}
          {row.turn !== undefined && <span class="faint"> {turnText(row)}</span>}
          <span class="vh">{aboutRow(row, sum)}</span>
        </span>
        <Tags row={row} />
      </span>
      <span class="track">
        <Bars row={row} scale={scale} now={now} />
      </span>
      <span class={`t ${isRunning ? "runs" : ""}`} title={timesOf(row)}>
        {tookOf(row, now)}
      </span>
      <Used row={row} sum={sum} />
    </div>
  );
}

/** Tokens and cost; of a child with all below it. */
function Used({ row, sum }: { readonly row: ShownRow; readonly sum: ChildSum | undefined }): JSX.Element {
  if (sum !== undefined) {
    const mark = sum.more ? "Σ ≥ " : "Σ ";
    const price = cost(sum.cost);
    return (
      <>
        <span class="t k">{sum.tokens > 0 ? mark + count(sum.tokens) : ""}</span>
        <span class="t c">{price === "" ? "" : mark + price}</span>
      </>
    );
  }
  return (
    <>
      <span class="t k">{row.tokens === undefined ? "" : count(row.tokens)}</span>
      <span class="t c">{cost(row.cost)}</span>
    </>
  );
}

const isWork = ({ kind }: Row): boolean => kind !== "parallel" && kind !== "race" && kind !== "branch";

function isRunningNow({ struck, endedAt, attempts }: Row): boolean {
  return struck === undefined && endedAt === null && attempts.at(-1)?.endedAt === null;
}

function nameOf({ branch, name }: ShownRow): string {
  return branch === undefined ? name : `${branch} / ${name}`;
}

function Tags({ row }: { row: ShownRow }): JSX.Element | null {
  const { attempts, edited, status, child, branches, kind, tried, undone } = row;
  if (tried !== undefined) return <span class="tag">try {tried}</span>;
  const failed = attempts.filter((attempt) => attempt.failed !== undefined).length;
  const runs = isRunningNow(row);
  return (
    <>
      {edited && <span class="tag">✎ edited</span>}
      {child !== undefined && <span class="tag">child</span>}
      {undone && <span class="tag undone">undone</span>}
      {typeof branches === "number" && <span class="tag">{branches}×</span>}
      {failed > 0 && runs && <span class="tag">attempt {attempts.length}</span>}
      {failed > 0 && !runs && status !== "failed" && (
        <span class="tag">{plural(attempts.length, "attempt")}</span>
      )}
      {status === "failed" && kind !== "branch" && <span class="tag bad">failed</span>}
      {status === "expired" && <span class="tag bad">expired</span>}
      {status === "retrying" && <span class="tag wait">will retry</span>}
    </>
  );
}

function tookOf({ startedAt, endedAt, kind, status }: Row, now: number): string {
  if (status === "registered" || (kind === "cleanup" && status === "closed")) return "";
  if (endedAt === null) return `${duration(Math.max(0, now - startedAt))}…`;
  return kind === "branch" ? "" : duration(endedAt - startedAt);
}

/** When it was, for those who want the clock. */
function timesOf({ startedAt, endedAt }: Row): string {
  return `${fullTime(startedAt)}${endedAt === null ? "" : ` to ${fullTime(endedAt)}`}`;
}

/** What a screen reader says of a row, besides what is visible. */
function aboutRow({ status, attempts, fromJournal, tokens, open, tried }: ShownRow, sum?: ChildSum): string {
  const failed = attempts.filter((attempt) => attempt.failed !== undefined).length;
  const parts = [
    status,
    fromJournal === true ? "from the journal" : "",
    tried === undefined ? "" : "before a retry",
    failed > 0 ? plural(failed, "failed attempt") : "",
    tokens === undefined ? "" : `${tokens} tokens`,
    sum === undefined || sum.tokens === 0 ? "" : `${sum.tokens} tokens with all below it`,
    open === undefined ? "" : open ? "open" : "closed",
  ];
  return parts.map((part) => (part === "" ? "" : `, ${part}`)).join("") + " ";
}

function Bars({ row, scale, now }: { row: ShownRow; scale: Scale; now: number }): JSX.Element | null {
  const { startedAt, endedAt, attempts, fromJournal, firstAt, struck, undoes } = row;
  const bar = (from: number, to: number | null, kind: string, title = titleOf(row)): JSX.Element | null => {
    const style = span(scale, from, to ?? Math.max(from, now));
    if (style === null) return null;
    // What took no time at the very end is seen, too.
    const left = `min(${style.left}, calc(100% - 3px))`;
    return <i key={from} class={`bar ${kind}`} style={{ ...style, left }} title={title} />;
  };
  if (row.kind === "sleep" || row.kind === "suspend") return bar(startedAt, endedAt, waitClass(row));
  if (row.kind === "child" || row.kind === "spawn")
    return bar(startedAt, endedAt, row.open === true ? "g" : waitClass(row));
  if (attempts.length === 0)
    return bar(startedAt, endedAt, isWork(row) ? (fromJournal ? "h" : "o") : `g ${undoes ? "undo" : ""}`);
  const first = firstAt === undefined ? -1 : scale.at(firstAt);
  return (
    <>
      {attempts.map((attempt) => {
        const kind =
          struck !== undefined
            ? "s"
            : attempt.failed !== undefined
              ? "x"
              : fromJournal
                ? "h"
                : attempt.endedAt === null
                  ? "now"
                  : undoes
                    ? "undo"
                    : "";
        return bar(attempt.startedAt, attempt.endedAt, kind, attempt.failed ?? titleOf(row));
      })}
      {isSeen(first) && <i class="first" style={{ left: percent(first) }} title="first token" />}
    </>
  );
}

function waitClass({ kind, fromJournal, status }: Row): string {
  if (kind === "child" || kind === "spawn")
    return fromJournal ? "h" : status === "failed" ? "x" : status === "open" ? "now" : "";
  if (kind === "sleep") return "z";
  return status === "open" ? "w" : fromJournal ? "h wd" : status === "expired" ? "x" : "wd";
}

function titleOf({ key, tokens, startedAt, endedAt }: Row): string {
  const took = endedAt === null ? "" : `, ${duration(endedAt - startedAt)}`;
  return `${key}${took}${tokens === undefined ? "" : `, ${count(tokens)} tokens`}`;
}

const ran = ({ attempts, fromJournal, struck }: Row): boolean =>
  attempts.some(({ failed, endedAt }) => failed === undefined && endedAt !== null) &&
  fromJournal !== true &&
  struck === undefined;

const hasFailed = (row: Row): boolean => row.attempts.some(({ failed }) => failed !== undefined);

/** Only what the picture contains. */
function Legend({
  rows,
  gaps,
  scale,
}: {
  readonly rows: readonly ShownRow[];
  readonly gaps: readonly Gap[];
  readonly scale: Scale;
}): JSX.Element {
  const some = (fits: (row: ShownRow) => boolean): boolean => rows.some(fits);
  const marks: readonly (readonly [shown: boolean, kind: string, name: string])[] = [
    [some((row) => ran(row) && row.undoes !== true), "bar", "ran here"],
    [some(({ fromJournal }) => fromJournal === true), "bar h", "from the journal"],
    [some((row) => row.struck === undefined && hasFailed(row)), "bar x", "failed attempt"],
    [some(({ struck }) => struck !== undefined), "bar s", "before a retry"],
    [some(isRunningNow), "bar now", "runs now"],
    [some(({ kind }) => kind === "suspend"), "bar w", "waiting"],
    [some((row) => row.undoes === true && row.attempts.length > 0), "bar undo", "taken back"],
    [some(({ firstAt }) => firstAt !== undefined), "first", "first token"],
  ];
  const [gap] = gaps;
  return (
    <div class="legend" aria-hidden="true">
      {marks
        .filter(([shown]) => shown)
        .map(([, kind, name]) => (
          <span key={name}>
            <i class={kind} /> {name}
          </span>
        ))}
      {scale.strip > 0 && <span class="faint">↺ left of the line: from the journal of the parent</span>}
      {gap !== undefined && (
        <span class="faint">
          hatched {gaps.length === 1 ? "gap" : "gaps"}:{" "}
          {gaps
            .slice(0, 3)
            .map(({ text }) => text)
            .join(", ")}
          {gaps.length > 3 && ", …"} without work
        </span>
      )}
    </div>
  );
}
