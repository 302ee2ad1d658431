/** Home: what happened lately, what needs somebody, and the list of runs, the newest first, live. */

import "../home.css";
import { computed, useSignal, type Signal } from "@preact/signals";
import type { RunStatus } from "@durable/core";
import { searchFields, searchText, type SearchTerms } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Attention, Counts, PulseReply, RunItem } from "../../src/api.ts";
import { countWaits, getAttention, getCounts, getPulse, watch } from "../lib/api.ts";
import { plural } from "../lib/format.ts";
import { grouped, type ListLine } from "../lib/grouping.ts";
import { useKeys, useThrottle } from "../lib/hooks.ts";
import { RunsStore } from "../lib/runs-store.ts";
import { go, queryOf, runPath, setQuery } from "../lib/router.ts";
import { session } from "../lib/state.ts";
import { AttentionStrip, openItems } from "../parts/attention.tsx";
import { BulkBar } from "../parts/bulk.tsx";
import { Empty, Problem } from "../parts/basic.tsx";
import { PulseView, type Range, rangeNames, ranges } from "../parts/pulse.tsx";
import { RunLine, RunsHeader } from "../parts/run-line.tsx";
import { TimeRange } from "../parts/time-range.tsx";
import { Virtual } from "../parts/virtual.tsx";

const lineHeight = (): number => (window.matchMedia("(max-width: 900px)").matches ? 104 : 51);

const names = [...searchFields, "text"] as const;

/** The search that the address has. */
export const filters = computed<SearchTerms>(() =>
  Object.fromEntries(names.map((name) => [name, queryOf(name)]).filter(([, value]) => value !== "")),
);

/** The parts of the address for a search; what it does not have is removed. */
export const addressOf = (terms: SearchTerms): Readonly<Record<string, string | null>> =>
  Object.fromEntries(names.map((name) => [name, terms[name] ?? null]));

/** Sums change with every run, and are read again less often than the list. */
const sumsMs = 10_000;

interface Overview {
  readonly pulse: Signal<PulseReply | null>;
  readonly attention: Signal<Attention | null>;
  readonly load: () => Promise<void>;
}

function useOverview(range: Range): Overview {
  const pulse = useSignal<PulseReply | null>(null);
  const attention = useSignal<Attention | null>(null);
  const load = async (): Promise<void> => {
    // Either may be refused to this visitor.
    const [sums, needs] = await Promise.all([
      getPulse(range).catch(() => null),
      getAttention(range).catch(() => null),
    ]);
    [pulse.value, attention.value] = [sums ?? pulse.peek(), needs ?? attention.peek()];
  };
  useEffect(() => void load(), [range]);
  return { pulse, attention, load };
}

export function RunsScreen(): JSX.Element {
  const store = useMemo(() => new RunsStore(), []);
  const counts = useSignal<Counts | null>(null);
  const sort = queryOf("sort");
  const range = ranges.find((one) => one === queryOf("range")) ?? "24h";
  const failure = queryOf("failure");
  const query = { ...filters.value, sort, ...(failure !== "" && { failure, range }) };
  const key = JSON.stringify(query);
  const { pulse, attention, load } = useOverview(range);
  const count = async (): Promise<void> => {
    counts.value = await getCounts().catch(() => counts.peek());
    await countWaits();
  };
  const refresh = useThrottle(() => Promise.all([store.refresh(), count()]), 1_000);
  const again = useThrottle(load, sumsMs);
  useEffect(() => void store.begin(query), [key]);
  useEffect(() => {
    void count();
    return watch(null, () => {
      refresh();
      again();
    });
  }, []);
  const done = (): void => void Promise.all([store.refresh(), count(), load()]);
  return (
    <div class="home">
      <Head pulse={pulse.value} attention={attention.value} range={range} />
      {pulse.value !== null && <PulseView reply={pulse.value} range={range} />}
      {attention.value !== null && <AttentionStrip data={attention.value} range={range} onDone={done} />}
      <div class="list-bar">
        <TimeRange />
        <Chips counts={counts.value} />
      </div>
      <RunsList store={store} onDone={done} />
    </div>
  );
}

function Head(props: {
  readonly pulse: PulseReply | null;
  readonly attention: Attention | null;
  readonly range: Range;
}): JSX.Element {
  const { pulse, attention, range } = props;
  const open = attention === null ? 0 : openItems(attention, range);
  const total = pulse?.pulse?.total;
  return (
    <div class="hd">
      <h1>
        {attention === null
          ? "Runs"
          : open === 0
            ? "Nothing needs you"
            : `${open === 1 ? "One thing needs" : `${open} things need`} you`}
      </h1>
      {total !== undefined && (
        <span class="soft">{`${plural(total.started, "run")} began in the last ${rangeNames[range]}`}</span>
      )}
      <span class="sp" />
      <span class="seg" role="group" aria-label="Time of the figures">
        {ranges.map((one) => (
          <label key={one} class={one === range ? "on" : ""}>
            <input
              type="radio"
              name="range"
              checked={one === range}
              onChange={() => setQuery({ range: one === "24h" ? null : one })}
            />
            {rangeNames[one]}
          </label>
        ))}
      </span>
    </div>
  );
}

/** `waiting` are runs with an open wait, whatever their status; `suspended` those that are parked for any reason. */
const chips: readonly (readonly [RunStatus | "waiting", string, string])[] = [
  ["blocked", "blocked", "Blocked"],
  ["failed", "fail", "Failed"],
  ["waiting", "waits", "Waiting"],
  ["suspended", "waits", "Suspended"],
  ["paused", "waits", "Paused"],
  ["running", "runs", "Running"],
  ["completed", "done", "Completed"],
  ["cancelled", "gone", "Cancelled"],
];

/** Shown only when there are some. */
const rare: readonly string[] = ["suspended", "paused", "cancelled"];

const chooseChip = (name: string): void =>
  setQuery({
    status: name === "" || name === "waiting" ? null : name,
    waiting: name === "waiting" ? "yes" : null,
  });

/** Every run has one status; open waits are counted beside it. */
function totalOf(counts: Counts): string {
  const all = Object.entries(counts).flatMap(([name, one]) => (name === "waiting" ? [] : [one]));
  const sum = all.reduce((total, one) => total + one.count, 0);
  return `${sum}${all.some(({ more }) => more) ? "+" : ""}`;
}

function Chips({ counts: all }: { counts: Counts | null }): JSX.Element {
  const { status: asked = "", waiting = "", ...others } = filters.value;
  const status = waiting === "" ? asked : asked === "" ? "waiting" : null;
  // They count all runs, so with another filter they would say something else than the list.
  const counts = Object.keys(others).length === 0 && queryOf("failure") === "" ? all : null;
  const shown = chips.filter(
    ([name]) => name === status || !rare.includes(name) || (all?.[name].count ?? 0) > 0,
  );
  return (
    <div class="chips" role="group" aria-label="Filter by status">
      <button
        type="button"
        class={`chip ${status === "" ? "on" : ""}`}
        aria-pressed={status === ""}
        onClick={() => chooseChip("")}
      >
        All {counts !== null && <b>{totalOf(counts)}</b>}
      </button>
      {shown.map(([name, style, label]) => (
        <button
          key={name}
          type="button"
          class={`chip ${status === name ? "on" : ""}`}
          aria-pressed={status === name}
          onClick={() => chooseChip(status === name ? "" : name)}
        >
          <span class={`st ${style}`} />
          {label}{" "}
          {counts !== null && (
            <b>
              {counts[name].count}
              {counts[name].more ? "+" : ""}
            </b>
          )}
        </button>
      ))}
      <span class="sp" />
      <label class="check">
        <input
          type="checkbox"
          checked={queryOf("group") !== "0"}
          onChange={() => setQuery({ group: queryOf("group") === "0" ? null : "0" })}
        />{" "}
        group forks
      </label>
    </div>
  );
}

interface Lines {
  readonly lines: readonly ListLine[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
}

/** The lines of the list, and the one that is chosen by keys. */
function useLines(store: RunsStore, pick: (runId: string) => void): Lines {
  const items = store.items.value;
  // A sorted list stays in its order.
  const isGrouped = queryOf("group") !== "0" && queryOf("sort") === "";
  const lines = useMemo(
    () => (isGrouped ? grouped(items) : items.map((item) => ({ item, depth: 0 }))),
    [items, isGrouped],
  );
  // Read at each key, because two keys may come before the page is drawn again.
  const chosenNow = (): number => lines.findIndex(({ item }) => item.runId === queryOf("run"));
  const chosen = chosenNow();
  const choose = (index: number): void => {
    const line = lines[Math.min(lines.length - 1, Math.max(0, index))];
    if (line !== undefined) setQuery({ run: line.item.runId });
  };
  const line = (): ListLine | undefined => lines[chosenNow()];
  const open = (): void => {
    const { item } = line() ?? {};
    if (item !== undefined) go(runPath(item.runId));
  };
  useKeys({
    j: () => choose(chosenNow() + 1),
    k: () => choose(chosenNow() - 1),
    x: () => {
      const { item } = line() ?? {};
      if (item !== undefined) pick(item.runId);
    },
    Enter: open,
    o: open,
  });
  return { lines, chosen, choose };
}

/** Runs that are selected at most: each is a request of its own. */
const mostPicked = 5_000;

type Picked = Signal<ReadonlySet<string>>;

function pickOne(picked: Picked, runId: string): void {
  const next = new Set(picked.peek());
  if (!next.delete(runId)) next.add(runId);
  picked.value = next;
}

function RunsList({ store, onDone }: { store: RunsStore; onDone: () => void }): JSX.Element {
  const picked: Picked = useSignal<ReadonlySet<string>>(new Set());
  const pick = (runId: string): void => pickOne(picked, runId);
  const { lines, chosen, choose } = useLines(store, pick);
  const { error, state, hidden } = store;
  const failure = queryOf("failure") === "" ? null : <OneFailure item={lines[0]?.item} />;
  if (error.value !== null && lines.length === 0)
    return <Problem text={error.value} onRetry={() => void store.again()} />;
  if (state.value === "loading" && lines.length === 0) return <p class="soft pane">Reading the runs…</p>;
  if (lines.length === 0 && state.value === "end") return failure ?? <NoRuns />;
  const isAll = picked.value.size > 0 && lines.every(({ item }) => picked.value.has(item.runId));
  const pickLoaded = (): void =>
    void (picked.value = new Set(isAll ? [] : lines.map(({ item }) => item.runId)));
  return (
    <>
      {failure}
      <div class="card list">
        {hidden.value > 0 && (
          <button type="button" class="pill" onClick={() => store.show()}>
            {plural(hidden.value, "new run")}. Show
          </button>
        )}
        <Virtual
          role="grid"
          label="Runs"
          class="runs"
          page
          header={<RunsHeader picked={isAll} onAll={pickLoaded} />}
          count={lines.length}
          height={lineHeight()}
          shown={chosen}
          version={lines}
          onKeyDown={(event) => onArrow(event, (step) => choose(chosen + step))}
          onView={(first, last) => inView(store, lines, [first, last])}
          render={(i) => {
            const line = lines[i];
            return line === undefined ? null : (
              <RunLine
                key={line.item.runId}
                {...line}
                index={i}
                chosen={i === chosen}
                picked={picked.value.has(line.item.runId)}
                onPick={() => pick(line.item.runId)}
              />
            );
          }}
        />
        <Footer store={store} shown={lines.length} />
      </div>
      <BulkBar
        items={store.items.value}
        picked={picked}
        hasMore={state.value !== "end" || !isAll}
        onAll={async () => void (picked.value = new Set(await store.allIds(mostPicked)))}
        onDone={onDone}
      />
    </>
  );
}

/** The list is about one kind of failure, as the head of the page counted it. */
function OneFailure({ item }: { item: RunItem | undefined }): JSX.Element {
  return (
    <p class="one-failure" role="status" dir="auto">
      {item === undefined
        ? "No run has failed in this way in the time of the figures."
        : `Only failures of ${item.workflow} like this one: ${item.error?.message || item.error?.code || ""}`}{" "}
      <button type="button" class="btn small" onClick={() => setQuery({ failure: null })}>
        Show all runs
      </button>
    </p>
  );
}

function onArrow(event: KeyboardEvent, move: (step: number) => void): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  move(step);
}

function inView(
  store: RunsStore,
  lines: readonly ListLine[],
  [first, last]: readonly [number, number],
): void {
  store.scrolled = first > 0;
  store.look(lines.slice(first, last + 1).map(({ item }) => item));
  if (last >= lines.length - 20) void store.more();
}

function Footer({ store, shown }: { store: RunsStore; shown: number }): JSX.Element {
  const { state, error } = store;
  return (
    <div class="foot" role="status">
      <span>
        {state.value === "end" ? plural(shown, "run") : `${plural(shown, "run")}, more below`}
        {store.sorted.value !== null &&
          `, sorted among the newest ${store.sorted.value.toLocaleString("en")} runs of the time. Choose a shorter time to see older ones`}
        {state.value === "loading" && ", reading more"}
        {error.value !== null && ` (${error.value})`}
      </span>
      {state.value === "searching" && (
        <button type="button" class="quiet" onClick={() => void store.more()}>
          search further back
        </button>
      )}
      <span class="sp" />
      <span class="hide">
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> select, <kbd>Enter</kbd> open, <kbd>/</kbd> search,{" "}
        <kbd>?</kbd> keys
      </span>
    </div>
  );
}

function NoRuns(): JSX.Element {
  const search = searchText(filters.value);
  if (search !== "")
    return (
      <div class="card">
        <Empty title="No run fits these filters.">
          <p class="id">{search}</p>
          <button type="button" class="btn" onClick={() => setQuery(addressOf({}))}>
            Clear the filters
          </button>
        </Empty>
      </div>
    );
  return (
    <div class="card">
      <Empty
        title={
          <>
            No runs {session.value?.title ? <span class="id">in {session.value.title} </span> : ""}yet. This
            page is watching.
          </>
        }
      >
        <code>await story.run("tides", {'{ id: "demo" }'})</code>
        <p class="soft">Every run of a workflow on this storage appears here, with each of its steps.</p>
      </Empty>
    </div>
  );
}
