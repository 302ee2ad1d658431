/** The left side of a run: its timeline, its journal, its streams, and its forks. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Row, RunPage } from "../../src/api.ts";
import { exported } from "../lib/api.ts";
import type { Zoom } from "../lib/axis.ts";
import { count, duration } from "../lib/format.ts";
import { useKeys } from "../lib/hooks.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { type ShownRow, shownRows, type Tries } from "../lib/rows.ts";
import { now } from "../lib/state.ts";
import type { Children } from "../lib/use-children.ts";
import { Empty, type Tab, Tabs } from "./basic.tsx";
import { JournalView } from "./journal.tsx";
import { Feed } from "./run-feed.tsx";
import { timeOf } from "./run-head.tsx";
import { ForkTree } from "./tree.tsx";
import { Waterfall } from "./waterfall.tsx";

interface TabsProps {
  readonly run: RunPage;
  readonly children: Children;
  readonly chosen: { readonly run: RunPage; readonly row: Row } | undefined;
}

export function RunTabs({ run, children, chosen }: TabsProps): JSX.Element {
  const forks = run.below.filter(({ isFork }) => isFork).length;
  const streams = run.rows.filter(({ kind }) => kind === "stream");
  const tabs: Tab[] = [
    { id: "timeline", name: "Timeline" },
    { id: "journal", name: `Journal ${run.entries}` },
    ...(streams.length === 0 ? [] : [{ id: "streams", name: `Streams ${streams.length}` }]),
    ...(exported === null ? [{ id: "forks", name: `Forks ${forks}` }] : []),
  ];
  const asked = queryOf("tab");
  const tab = tabs.some(({ id }) => id === asked) ? asked : "timeline";
  useKeys(Object.fromEntries([0, 1, 2, 3].map((i) => [String(i + 1), () => openTab(tabs[i]?.id)])));
  return (
    <>
      <div class="tab-line">
        <Tabs tabs={tabs} chosen={tab} label="Views of the run" onChoose={openTab} />
        {tab === "timeline" && <ViewOptions />}
      </div>
      {tab === "timeline" && <Timeline run={run} children={children} chosen={chosen} />}
      {tab === "journal" && <JournalView key={run.runId} runId={run.runId} total={run.entries} />}
      {tab === "streams" && <Streams rows={streams} />}
      {tab === "forks" && <ForkTree runId={run.runId} version={run.below.length} />}
    </>
  );
}

function openTab(id: string | undefined): void {
  if (id !== undefined) setQuery({ tab: id === "timeline" ? null : id });
}

function ViewOptions(): JSX.Element {
  const isWhole = queryOf("gaps") === "1";
  return (
    <span class="options">
      {zoomIn() !== null && (
        <button type="button" class="link" onClick={() => setZoom(null)}>
          show all
        </button>
      )}
      <label class="check">
        <input type="checkbox" checked={!isWhole} onChange={() => setQuery({ gaps: isWhole ? null : "1" })} />{" "}
        fold idle time
      </label>
    </span>
  );
}

function zoomIn(): Zoom | null {
  const [from = Number.NaN, to = Number.NaN] = queryOf("zoom").split("-").map(Number);
  return to > from ? { from, to } : null;
}

function setZoom(zoom: Zoom | null): void {
  setQuery({ zoom: zoom === null ? null : `${Math.floor(zoom.from)}-${Math.ceil(zoom.to)}` });
}

/** Zooms to the half in the middle, or to twice of what is shown. */
function zoomBy(factor: number, whole: Zoom): void {
  const { from, to } = zoomIn() ?? whole;
  const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
  const next = { from: Math.max(whole.from, middle - half), to: Math.min(whole.to, middle + half) };
  const isAll = next.from <= whole.from && next.to >= whole.to;
  if (isAll) setZoom(null);
  else if (next.to - next.from >= 1) setZoom(next);
}

export function triesIn(): Tries {
  const asked = queryOf("tries");
  return asked === "old" || asked === "new" ? asked : "both";
}

function choose(row: ShownRow | undefined): void {
  if (row !== undefined) setQuery({ step: row.key, in: row.run ?? null });
}

interface Moving {
  readonly rows: readonly ShownRow[];
  readonly index: number;
  readonly toggle: (row: ShownRow | undefined) => void;
  /** All of the time that can be shown. */
  readonly whole: Zoom;
}

/** What the keys do in the timeline. */
function movesOf({ rows, index, toggle, whole }: Moving): Readonly<Record<string, () => void>> {
  const move = (to: number): void => choose(rows[Math.min(rows.length - 1, Math.max(0, to))]);
  const current = rows[index];
  const open = (): void => (current?.open === false ? toggle(current) : undefined);
  const close = (): void => (current?.open === true ? toggle(current) : undefined);
  return {
    j: () => move(index + 1),
    k: () => move(index - 1),
    ArrowDown: () => move(index + 1),
    ArrowUp: () => move(index - 1),
    ArrowRight: open,
    ArrowLeft: close,
    Home: () => move(0),
    End: () => move(rows.length - 1),
    h: close,
    l: open,
    "+": () => zoomBy(0.5, whole),
    "-": () => zoomBy(2, whole),
    0: () => setZoom(null),
    Escape: () => setQuery({ step: null, in: null, panel: null }),
  };
}

const globalKeys = ["j", "k", "h", "l", "+", "-", "0", "Escape"];

function Timeline({ run, children, chosen }: TabsProps): JSX.Element {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const tries = triesIn();
  const rows = useMemo(
    () => shownRows(run, { tries, closed: closed.value, children: children.open }),
    [run.rows, run.retries, tries, closed.value, children.open],
  );
  const id = chosen === undefined ? "" : (chosen.run === run ? "" : `${chosen.run.runId} `) + chosen.row.key;
  const index = rows.findIndex((row) => row.id === id);
  const toggle = (row: ShownRow | undefined): void => {
    if (row?.open === undefined) return;
    if (row.child !== undefined) return children.toggle(row.child);
    const next = new Set(closed.peek());
    if (!next.delete(row.id)) next.add(row.id);
    closed.value = next;
  };
  const end = run.endedAt ?? timeOf(run);
  const whole = { from: run.startedAt, to: Math.max(end, run.startedAt + 1) };
  const moves = movesOf({ rows, index, toggle, whole });
  useKeys(Object.fromEntries(globalKeys.map((name) => [name, () => moves[name]?.()])));
  if (rows.length === 0)
    return (
      <p class="pane soft">
        {run.rows.length === 0 ? "Nothing is recorded yet. This page is watching." : "No row of this try."}
      </p>
    );
  return (
    <>
      <Waterfall
        rows={rows}
        origin={run.startedAt}
        now={end}
        isOpen={run.endedAt === null && runsNow(run)}
        fold={queryOf("gaps") !== "1"}
        zoom={zoomIn()}
        sums={children.sums}
        chosen={id}
        onChoose={(row) => (row.id === id ? setQuery({ step: null, in: null }) : choose(row))}
        onToggle={toggle}
        onZoom={setZoom}
        onKeyDown={(event) => {
          const isMove = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
          const act = isMove ? moves[event.key] : undefined;
          if (act === undefined) return;
          event.preventDefault();
          act();
        }}
      />
      <Feed run={run} />
    </>
  );
}

function runsNow({ state }: RunPage): boolean {
  return state === "running" || state === "cancelling" || state === "failing";
}

/** The streams of a run, by name. */
function Streams({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  if (rows.length === 0) return <Empty title="This run writes no stream." />;
  return (
    <ul class="streams">
      {rows.map((row) => (
        <li key={row.key}>
          <button
            type="button"
            class="link key"
            onClick={() => setQuery({ step: row.key, in: null, panel: null })}
          >
            {row.key}
          </button>
          <span class={row.endedAt === null ? "runs" : "soft"}>
            {row.endedAt === null ? "is written" : row.status}
          </span>
          <span class="soft">{row.chunks === undefined ? "" : `${count(row.chunks)} chunks`}</span>
          <span class="soft">{duration((row.endedAt ?? now.value) - row.startedAt)}</span>
          <span class="words">{row.words ?? ""}</span>
        </li>
      ))}
    </ul>
  );
}
