/** What happened lately: four figures with their course, against the time before. */

import type { JSX } from "preact";
import type { Pulse, PulseReply } from "../../src/api.ts";
import { clock, count, duration, spent } from "../lib/format.ts";
import { now } from "../lib/state.ts";
import { Link } from "./basic.tsx";

export const ranges = ["1h", "24h", "7d"] as const;
export type Range = (typeof ranges)[number];
export const rangeNames: Readonly<Record<Range, string>> = { "1h": "1 h", "24h": "24 h", "7d": "7 d" };

type Sum = Pulse["total"];

/** The share of those that ended which failed; `null` when none ended. */
export const failedShare = ({ failed, ended }: Sum): number | null =>
  ended === 0 ? null : (failed / ended) * 100;

export const percent = (value: number): string =>
  `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;

export function PulseView({ reply, range }: { reply: PulseReply; range: Range }): JSX.Element | null {
  const { pulse } = reply;
  if (pulse === null) return null;
  const { total, before, parts } = pulse;
  const share = failedShare(total);
  const shareBefore = before === null ? null : failedShare(before);
  const shares = parts.map((part) => failedShare(part) ?? 0);
  const since = `since=${range}`;
  return (
    <section class="card pulse" aria-label={`The last ${rangeNames[range]}`}>
      <Figure
        name="Started"
        value={count(total.started)}
        notes={[
          before === null || before.started === 0 ? "" : growth(total.started, before.started),
          before === null ? "" : `${count(before.started)} before`,
        ]}
        to={`/?${since}`}
      >
        <Bars values={parts.map(({ started }) => started)} />
      </Figure>
      <Figure
        name="Failed"
        value={share === null ? "–" : percent(share)}
        class={total.failed > 0 ? "bad" : ""}
        notes={[
          `${total.failed} of ${total.ended} ended`,
          shareBefore === null ? "" : `${percent(shareBefore)} before`,
        ]}
        to={`/?status=failed&${since}`}
      >
        <Line values={shares} bad />
      </Figure>
      <Figure
        name="Time, p95"
        value={total.p95 === null ? "–" : duration(total.p95)}
        notes={[
          total.median === null ? "" : `median ${duration(total.median)}`,
          typeof before?.p95 === "number" ? `${duration(before.p95)} before` : "",
        ]}
        to={`/?sort=took&${since}`}
      >
        <Line values={parts.map(({ p95 }) => p95 ?? 0)} />
      </Figure>
      <Figure
        name="Cost"
        value={spent(total)}
        notes={[
          total.started === 0 ? "" : `of ${total.started} runs that began`,
          before === null ? "" : `${spent(before)} before`,
        ]}
        to="/cost"
      >
        <Line values={parts.map(({ cost }) => cost)} />
      </Figure>
      <Marks reply={reply} />
      {pulse.more && <p class="soft">Only the newest {count(total.started)} runs were summed.</p>}
    </section>
  );
}

function growth(value: number, before: number): string {
  const change = Math.round((value / before - 1) * 100);
  return `${change > 0 ? "+" : change < 0 ? "−" : "±"}${Math.abs(change)} %`;
}

function Figure(props: {
  readonly name: string;
  readonly value: string;
  readonly notes: readonly string[];
  readonly to: string;
  readonly class?: string;
  readonly children: JSX.Element;
}): JSX.Element {
  return (
    <Link to={props.to} class="figure">
      <span>{props.name}</span> <strong class={props.class}>{props.value}</strong>{" "}
      <small>
        {props.notes.filter(Boolean).map((note) => (
          <span key={note}>{note} </span>
        ))}
      </small>
      {props.children}
    </Link>
  );
}

const [width, height] = [300, 48];

const heightsOf = (values: readonly number[]): readonly number[] => {
  const most = Math.max(...values, 0);
  return values.map((value) => (most === 0 ? 0 : (value / most) * (height - 6)));
};

export function Bars({ values }: { values: readonly number[] }): JSX.Element {
  const step = width / values.length;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {heightsOf(values).map((size, i) => (
        <rect
          key={i}
          class="b"
          x={i * step + step * 0.15}
          y={height - size}
          width={step * 0.7}
          height={size}
        />
      ))}
    </svg>
  );
}

function Line({ values, bad = false }: { values: readonly number[]; bad?: boolean }): JSX.Element {
  const step = width / Math.max(1, values.length - 1);
  const points = heightsOf(values).map(
    (size, i) => `${(i * step).toFixed(1)} ${(height - 1 - size).toFixed(1)}`,
  );
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      class={bad ? "worse" : ""}
    >
      <path class="area" d={`M0 ${height}L${points.join("L")}L${width} ${height}z`} />
      <path class="ln" d={`M${points.join("L")}`} />
    </svg>
  );
}

/** Versions that were new in this time: below each chart, and in words. */
function Marks({ reply: { pulse, since, until } }: { reply: PulseReply }): JSX.Element | null {
  const versions = pulse?.versions ?? [];
  if (versions.length === 0) return null;
  return (
    <p class="versions">
      {versions.slice(-6).map(({ at, workflow, version }) => (
        <Link
          key={`${workflow} ${version}`}
          to={`/?${new URLSearchParams({ workflow, version }).toString()}`}
          class="soft"
        >
          <i
            style={{ "--at": `${(((at - since) / (until - since)) * 100).toFixed(1)}%` }}
            aria-hidden="true"
          />
          {workflow} is version {version} since {clock(at, now.value)}
        </Link>
      ))}
    </p>
  );
}
