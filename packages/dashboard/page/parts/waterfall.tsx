/** The waterfall: one line per call, bars on an axis whose idle time is folded. */

import type { Axis } from "@durable/core/inspect";
import { positionOn } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Row } from "../../src/api.ts";
import { axisOf, gapsOf, span, ticksOf } from "../lib/axis.ts";
import { clock, count, duration, plural, turnText } from "../lib/format.ts";
import { Virtual } from "./virtual.tsx";

const lineHeight = 28;

export interface WaterfallProps {
  readonly rows: readonly ShownRow[];
  readonly now: number;
  readonly fold: boolean;
  readonly chosen: string;
  readonly closed: ReadonlySet<string>;
  readonly onChoose: (key: string) => void;
  readonly onToggle: (key: string) => void;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
}

/** A row, and what the list calls it. */
export type ShownRow = Row & { readonly branch?: string };

/** A branch with a single call is one line: the name of the branch, and the call. */
export function compact(rows: readonly Row[]): ShownRow[] {
  const below = new Map<string, number>();
  for (const { parent } of rows) if (parent !== null) below.set(parent, (below.get(parent) ?? 0) + 1);
  const single = new Map<string, Row>();
  return rows.flatMap((row, i): ShownRow[] => {
    const next = rows[i + 1];
    if (
      row.kind === "branch" &&
      below.get(row.key) === 1 &&
      next?.parent === row.key &&
      !below.has(next.key)
    ) {
      single.set(row.key, row);
      return [];
    }
    const branch = row.parent === null ? undefined : single.get(row.parent);
    return [
      branch === undefined
        ? row
        : { ...row, branch: branch.name, parent: branch.parent, depth: branch.depth },
    ];
  });
}

/** The rows that are not inside a closed group. */
export function openRows(rows: readonly ShownRow[], closed: ReadonlySet<string>): ShownRow[] {
  if (closed.size === 0) return [...rows];
  const hidden = new Set<string>();
  return rows.filter(({ key, parent }) => {
    const isHidden = parent !== null && (hidden.has(parent) || closed.has(parent));
    if (isHidden) hidden.add(key);
    return !isHidden;
  });
}

export function Waterfall(props: WaterfallProps): JSX.Element {
  const { rows, now, fold, chosen, closed } = props;
  const shown = useMemo(() => openRows(rows, closed), [rows, closed]);
  const isOpen = rows.some(({ endedAt }) => endedAt === null);
  const axis = useMemo(() => axisOf(rows, { now, fold }), [rows, fold, isOpen ? now : 0]);
  const groups = useMemo(() => new Set(rows.map(({ parent }) => parent)), [rows]);
  const index = shown.findIndex(({ key }) => key === chosen);
  const gaps = useMemo(() => gapsOf(axis), [axis]);
  return (
    <>
      <AxisLine axis={axis} gaps={gaps} />
      <Virtual
        class="wf"
        role="listbox"
        label="Timeline"
        count={shown.length}
        height={lineHeight}
        shown={index}
        active={index === -1 ? undefined : `row-${index}`}
        onKeyDown={props.onKeyDown}
        behind={
          <div class="gaps" role="presentation">
            {gaps.map(({ from, to }) => (
              <i key={from} style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }} />
            ))}
          </div>
        }
        render={(i) => {
          const row = shown[i];
          return row === undefined ? null : (
            <Line key={row.key} {...props} row={row} axis={axis} index={i} hasRows={groups.has(row.key)} />
          );
        }}
      />
      <Legend rows={rows} />
    </>
  );
}

function AxisLine({ axis, gaps }: { axis: Axis; gaps: ReturnType<typeof gapsOf> }): JSX.Element {
  return (
    <div class="axis" aria-hidden="true">
      <span />
      <div>
        {ticksOf(axis).map(({ at, text }) => (
          <span key={at} class={at === 1 ? "end" : at === 0 ? "start" : ""} style={{ left: `${at * 100}%` }}>
            {text}
          </span>
        ))}
        {gaps.map(({ from, to, text }) => (
          <b key={from} style={{ left: `${((from + to) / 2) * 100}%` }}>
            {text}
          </b>
        ))}
      </div>
      <span />
    </div>
  );
}

type LineProps = WaterfallProps & {
  readonly row: ShownRow;
  readonly axis: Axis;
  readonly index: number;
  readonly hasRows: boolean;
};

function Line({
  row,
  axis,
  index,
  hasRows,
  now,
  chosen,
  closed,
  onChoose,
  onToggle,
}: LineProps): JSX.Element {
  const { key, depth } = row;
  const isClosed = closed.has(key);
  return (
    <div
      id={`row-${index}`}
      role="option"
      aria-selected={key === chosen}
      class={`row ${key === chosen ? "sel" : ""} ${row.struck === undefined ? "" : "struck"}`}
      onClick={() => onChoose(key)}
    >
      <span class="nm" style={{ paddingLeft: `${Math.min(depth, 8) * 14}px` }}>
        {hasRows && (
          <span
            class="arrow"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onToggle(key);
            }}
          >
            {isClosed ? "▸" : "▾"}
          </span>
        )}
        <span class={isWork(row) ? "" : "soft"} title={key}>
          <span class="vh">{row.kind} </span>
          {nameOf(row)}
          {row.turn !== undefined && <span class="faint"> {turnText(row)}</span>}
          <span class="vh">{aboutRow(row)}</span>
        </span>
        {row.struck === undefined ? (
          <Tags row={row} />
        ) : (
          <span class="tag">before the retry of {clock(row.struck, now)}</span>
        )}
      </span>
      <span class="track">
        <Bars row={row} axis={axis} now={now} />
      </span>
      <span class="t">{tookOf(row, now)}</span>
    </div>
  );
}

/** The number of a repeated name is part of what people look for. The hash of a turn is not: its title has it. */
function nameOf({ key, name, branch, turn }: ShownRow): string {
  const number = /#\d+$/.exec(key)?.[0] ?? "";
  const shown = turn === undefined ? name : name.replace(/ [a-z2-7]{16}$/, "");
  return (branch === undefined ? "" : `${branch} / `) + shown + number;
}

function isWork({ kind }: Row): boolean {
  return kind === "step" || kind === "stream" || kind === "child" || kind === "suspend";
}

function Tags({ row }: { row: Row }): JSX.Element | null {
  const { attempts, edited, status, child, branches, kind } = row;
  const failed = attempts.filter((attempt) => attempt.failed !== undefined).length;
  return (
    <>
      {edited && <span class="tag">edited</span>}
      {child !== undefined && <span class="tag">child</span>}
      {typeof branches === "number" && <span class="tag">{branches}×</span>}
      {failed > 0 && status !== "failed" && <span class="tag">{plural(attempts.length, "attempt")}</span>}
      {status === "failed" && kind !== "branch" && <span class="tag bad">failed</span>}
      {status === "expired" && <span class="tag bad">expired</span>}
      {status === "retrying" && <span class="tag wait">will retry</span>}
    </>
  );
}

function tookOf({ startedAt, endedAt, kind, status }: Row, now: number): string {
  if (status === "registered" || (kind === "cleanup" && status === "closed")) return "";
  if (endedAt === null) return `${duration(now - startedAt)}…`;
  return kind === "branch" ? "" : duration(endedAt - startedAt);
}

/** What a screen reader says of a row, besides what is visible. */
function aboutRow({ status, attempts, fromJournal, tokens }: Row): string {
  const failed = attempts.filter((attempt) => attempt.failed !== undefined).length;
  const parts = [
    status,
    fromJournal === true ? "from the journal" : "",
    failed > 0 ? plural(failed, "failed attempt") : "",
    tokens === undefined ? "" : `${tokens} tokens`,
  ];
  return parts.map((part) => (part === "" ? "" : `, ${part}`)).join("") + " ";
}

function Bars({ row, axis, now }: { row: Row; axis: Axis; now: number }): JSX.Element {
  const { kind, startedAt, endedAt, attempts, fromJournal, firstAt } = row;
  const place = (from: number, to: number | null) => span(axis, from, to ?? now);
  if (kind === "sleep" || kind === "suspend" || kind === "child")
    return <i class={`bar ${waitClass(row)}`} style={place(startedAt, endedAt)} title={titleOf(row)} />;
  if (attempts.length === 0)
    return kind === "branch" || kind === "parallel" || kind === "race" ? (
      <i class="bar g" style={place(startedAt, endedAt)} />
    ) : (
      <i class={`bar ${fromJournal ? "h" : "o"}`} style={place(startedAt, endedAt)} title={titleOf(row)} />
    );
  return (
    <>
      {attempts.map((attempt) => (
        <i
          key={attempt.number}
          class={`bar ${attempt.failed !== undefined ? "x" : fromJournal ? "h" : attempt.endedAt === null ? "o" : ""}`}
          style={place(attempt.startedAt, attempt.endedAt)}
          title={attempt.failed ?? titleOf(row)}
        />
      ))}
      {firstAt !== undefined && (
        <i class="first" style={{ left: `${positionOn(axis, firstAt) * 100}%` }} title="first token" />
      )}
    </>
  );
}

function waitClass({ kind, fromJournal, status }: Row): string {
  if (kind === "child") return fromJournal ? "h" : status === "failed" ? "x" : status === "open" ? "o" : "";
  if (kind === "sleep") return "z";
  return status === "open" ? "w" : fromJournal ? "h wd" : status === "expired" ? "x" : "wd";
}

function titleOf({ key, tokens, startedAt, endedAt }: Row): string {
  const took = endedAt === null ? "" : `, ${duration(endedAt - startedAt)}`;
  return `${key}${took}${tokens === undefined ? "" : `, ${count(tokens)} tokens`}`;
}

const ran = ({ attempts }: Row): boolean => attempts.length > 0;

/** Only what the picture contains. */
function Legend({ rows }: { rows: readonly Row[] }): JSX.Element {
  const has = (fits: (row: Row) => boolean): boolean => rows.some(fits);
  return (
    <div class="legend" aria-hidden="true">
      {has((row) => ran(row) && row.fromJournal !== true) && (
        <span>
          <i class="bar" /> ran here
        </span>
      )}
      {has((row) => row.fromJournal === true) && (
        <span>
          <i class="bar h" /> from the journal
        </span>
      )}
      {has(({ attempts }) => attempts.some(({ failed }) => failed !== undefined)) && (
        <span>
          <i class="bar x" /> failed attempt
        </span>
      )}
      {has(({ kind }) => kind === "suspend") && (
        <span>
          <i class="bar w" /> waiting
        </span>
      )}
      {has(({ struck }) => struck !== undefined) && (
        <span>
          <i class="bar struck" /> before a retry
        </span>
      )}
      {has(({ firstAt }) => firstAt !== undefined) && (
        <span>
          <i class="first" /> first token
        </span>
      )}
    </div>
  );
}
