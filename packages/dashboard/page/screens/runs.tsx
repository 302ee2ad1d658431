/** The list of runs: those that need attention first, filters in the address, live. */

import { computed, useSignal } from "@preact/signals";
import type { RunStatus } from "@durable/core";
import { searchFields, searchText, type SearchTerms } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Counts } from "../../src/api.ts";
import { countWaits, getCounts, watch } from "../lib/api.ts";
import { plural, statusName } from "../lib/format.ts";
import { grouped, type ListLine } from "../lib/grouping.ts";
import { useKeys, useThrottle } from "../lib/hooks.ts";
import { RunsStore } from "../lib/runs-store.ts";
import { go, queryOf, runPath, setQuery } from "../lib/router.ts";
import { session } from "../lib/state.ts";
import { Empty, Problem } from "../parts/basic.tsx";
import { RunLine, RunsHeader } from "../parts/run-line.tsx";
import { Virtual } from "../parts/virtual.tsx";

const lineHeight = 34;

const names = [...searchFields, "text"] as const;

/** The search that the address has. */
export const filters = computed<SearchTerms>(() =>
  Object.fromEntries(names.map((name) => [name, queryOf(name)]).filter(([, value]) => value !== "")),
);

/** The parts of the address for a search; what it does not have is removed. */
export const addressOf = (terms: SearchTerms): Readonly<Record<string, string | null>> =>
  Object.fromEntries(names.map((name) => [name, terms[name] ?? null]));

export function RunsScreen(): JSX.Element {
  const store = useMemo(() => new RunsStore(), []);
  const counts = useSignal<Counts | null>(null);
  const order = queryOf("order");
  const query = { ...filters.value, order };
  const key = JSON.stringify(query);
  const count = async (): Promise<void> => {
    counts.value = await getCounts().catch(() => counts.peek());
    await countWaits();
  };
  const refresh = useThrottle(() => Promise.all([store.refresh(), count()]), 1_000);
  useEffect(() => void store.begin(query), [key]);
  useEffect(() => {
    void count();
    return watch(null, refresh);
  }, []);
  return (
    <>
      <h1 class="unseen">Runs</h1>
      <Chips counts={counts.value} order={order} />
      <RunsList store={store} />
    </>
  );
}

const statuses: readonly (readonly [RunStatus, string])[] = [
  ["blocked", "blocked"],
  ["failed", "fail"],
  ["suspended", "waits"],
  ["paused", "waits"],
  ["running", "runs"],
  ["completed", "done"],
  ["cancelled", "gone"],
];

/** Shown only when there are some. */
const rare: readonly RunStatus[] = ["paused", "cancelled"];

function Chips({ counts, order }: { counts: Counts | null; order: string }): JSX.Element {
  const { status = "" } = filters.value;
  const shown = statuses.filter(
    ([name]) => name === status || !rare.includes(name) || (counts?.[name].count ?? 0) > 0,
  );
  return (
    <div class="chips" role="group" aria-label="Filter by status">
      <button
        type="button"
        class={`chip ${status === "" ? "on" : ""}`}
        aria-pressed={status === ""}
        onClick={() => setQuery({ status: null })}
      >
        All
      </button>
      {shown.map(([name, style]) => (
        <button
          key={name}
          type="button"
          class={`chip ${status === name ? "on" : ""}`}
          aria-pressed={status === name}
          onClick={() => setQuery({ status: status === name ? null : name })}
        >
          <span class={`st ${style}`} />
          {statusName(name)}{" "}
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
          checked={order === "newest"}
          onChange={() => setQuery({ order: order === "newest" ? null : "newest" })}
        />{" "}
        newest first
      </label>
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
function useLines(store: RunsStore): Lines {
  const items = store.items.value;
  const isGrouped = queryOf("group") !== "0";
  const lines = useMemo(
    () => (isGrouped ? grouped(items) : items.map((item) => ({ item, depth: 0 }))),
    [items, isGrouped],
  );
  const chosen = lines.findIndex(({ item }) => item.runId === queryOf("run"));
  const choose = (index: number): void => {
    const line = lines[Math.min(lines.length - 1, Math.max(0, index))];
    if (line !== undefined) setQuery({ run: line.item.runId });
  };
  const open = (): void => {
    const line = lines[chosen];
    if (line !== undefined) go(runPath(line.item.runId));
  };
  useKeys({ j: () => choose(chosen + 1), k: () => choose(chosen - 1), Enter: open, o: open });
  return { lines, chosen, choose };
}

function RunsList({ store }: { store: RunsStore }): JSX.Element {
  const { lines, chosen, choose } = useLines(store);
  const { error, state, hidden } = store;
  if (error.value !== null && lines.length === 0)
    return <Problem text={error.value} onRetry={() => void store.again()} />;
  if (state.value === "loading" && lines.length === 0) return <p class="soft pane">Reading the runs…</p>;
  if (lines.length === 0 && state.value === "end") return <NoRuns />;
  return (
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
        header={<RunsHeader />}
        count={lines.length}
        height={lineHeight}
        shown={chosen}
        version={lines}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step === 0) return;
          event.preventDefault();
          choose(chosen + step);
        }}
        onView={(first, last) => {
          store.scrolled = first > 0;
          store.look(lines.slice(first, last + 1).map(({ item }) => item));
          if (last >= lines.length - 20) void store.more();
        }}
        render={(i) => {
          const line = lines[i];
          return line === undefined ? null : (
            <RunLine
              key={line.item.runId}
              {...line}
              index={i}
              chosen={i === chosen}
              summary={store.summaries.value.get(line.item.runId)}
            />
          );
        }}
      />
      <Footer store={store} shown={lines.length} />
    </div>
  );
}

function Footer({ store, shown }: { store: RunsStore; shown: number }): JSX.Element {
  const { state, error } = store;
  return (
    <div class="foot" role="status">
      <span>
        {state.value === "end" ? plural(shown, "run") : `${shown} runs, more below`}
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
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> open, <kbd>/</kbd> search, <kbd>?</kbd> keys
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
