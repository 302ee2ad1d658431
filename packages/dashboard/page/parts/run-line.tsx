/** One line of the list of runs, as its head says: what it is, what it does or why it does not, and what it took and cost. */

import type { JSX } from "preact";
import type { RunItem } from "../../src/api.ts";
import { scoreText } from "../lib/eval-text.ts";
import { clock, cost, duration, fullTime, plural, shortId, timeLeft, zoneName } from "../lib/format.ts";
import { queryOf, runPath, setQuery } from "../lib/router.ts";
import { now } from "../lib/state.ts";
import { Link, Status, TagLink } from "./basic.tsx";

const columns: readonly (readonly [name: string, sort?: string])[] = [
  ["Status"],
  ["Run"],
  ["What"],
  ["Steps", "steps"],
  ["Started", ""],
  ["Took", "took"],
  ["Cost", "cost"],
];

export function RunsHeader({ picked, onAll }: { picked: boolean; onAll: () => void }): JSX.Element {
  const sorted = queryOf("sort");
  return (
    <div class="virtual-head run-line" role="row" aria-rowindex={1}>
      <span role="columnheader" class="cx">
        <input type="checkbox" aria-label="Select all that are loaded" checked={picked} onChange={onAll} />
      </span>
      {columns.map(([name, sort], i) => (
        <span
          key={name}
          role="columnheader"
          class={`c${i} ${i > 2 ? "n" : ""}`}
          aria-sort={sort === sorted ? "descending" : undefined}
          title={name === "Started" ? `Times in ${zoneName(now.value)}` : undefined}
        >
          {sort === undefined ? (
            name
          ) : (
            <button type="button" onClick={() => setQuery({ sort })}>
              {name}
            </button>
          )}
        </span>
      ))}
    </div>
  );
}

interface RunLineProps {
  readonly item: RunItem;
  readonly depth: number;
  readonly index: number;
  readonly chosen: boolean;
  readonly picked: boolean;
  readonly onPick: () => void;
}

export function RunLine({ item, depth, index, chosen, picked, onPick }: RunLineProps): JSX.Element {
  const { runId, state, label, createdAt } = item;
  const isBelow = depth > 0;
  const { main, more = null } = whatOf(item, isBelow);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      class={`run-line ${state} ${chosen ? "sel" : ""} ${picked ? "on" : ""}`}
    >
      <span role="gridcell" class="cx">
        <input type="checkbox" aria-label={`Select ${runId}`} checked={picked} onChange={onPick} />
      </span>
      <span role="gridcell" class="c0">
        <Status state={state} damaged={item.blocked?.code === "corrupt"} />
      </span>
      <span role="gridcell" class="c1" style={{ paddingLeft: `${Math.min(depth, 4) * 20}px` }}>
        <Link to={runPath(runId)} title={runId} class="name">
          {isBelow && <i class="elbow" aria-hidden="true" />}
          <b>{item.workflow === "" ? "journal" : item.workflow}</b> <span class="id">{shortId(runId)}</span>
        </Link>
        <span class="tags">
          {label !== null && <span class="tag">{label}</span>}
          <Tags tags={item.tags} />
          {Object.entries(item.scores ?? {}).map(([name, value]) => (
            <span key={`score ${name}`} class="tag">{`${name} ${scoreText(value)}`}</span>
          ))}
        </span>
      </span>
      <span role="gridcell" class="c2">
        <span dir="auto">{main}</span>
        <small dir="auto">{more}</small>
      </span>
      <span role="gridcell" class="c3 n soft">
        {item.steps}
      </span>
      <span role="gridcell" class="c4 n soft" title={fullTime(createdAt)}>
        {clock(createdAt, now.value)}
      </span>
      <span role="gridcell" class="c5 n">
        {tookOf(item)}
      </span>
      <span role="gridcell" class="c6 n">
        {cost(item.cost)}
      </span>
    </div>
  );
}

interface What {
  readonly main: JSX.Element | string;
  readonly more?: JSX.Element | string | null;
}

/** What one looks for: the question, the error, what runs now, or what came of it. */
function whatOf(item: RunItem, isBelow: boolean): What {
  const { blocked, doing, error, waits, report, wakeAt, state } = item;
  const shown = report === undefined ? null : report;
  if (blocked !== undefined)
    return {
      main: <b>{blocked.message}</b>,
      more: `blocked: ${blocked.code}, for ${duration(now.value - blocked.since)}`,
    };
  if (state === "failed" || state === "failing")
    return {
      main: <b>{error?.message ?? error?.code ?? "failed"}</b>,
      more:
        error?.key === undefined ? (
          (error?.code ?? null)
        ) : (
          <>
            in <code>{error.key}</code>
          </>
        ),
    };
  if (waits !== undefined)
    return {
      main: <b>{waits.question ?? "waits for an answer"}</b>,
      more: (
        <>
          {waits.count > 1 && `${plural(waits.count, "question")}, `}
          {waits.expiresAt === null ? (
            "no time limit"
          ) : (
            <span class={waits.expiresAt - now.value < 3_600_000 ? "bad" : "wait"}>
              {timeLeft(waits.expiresAt - now.value)}
            </span>
          )}
        </>
      ),
    };
  const [first] = doing ?? [];
  if (first !== undefined) return doingText(first, doing ?? [], shown);
  if (state === "queued")
    return {
      main: `due for ${duration(now.value - (wakeAt || item.updatedAt))}, no driver has it`,
      more: shown,
    };
  if (state === "sleeping" && wakeAt !== null)
    return { main: `wakes ${clock(wakeAt, now.value)}, in ${duration(wakeAt - now.value)}`, more: shown };
  if (state === "waiting") return { main: "waits for a message or a child", more: shown };
  const origin =
    item.parent !== null && !isBelow ? `${item.isFork ? "fork" : "child"} of ${shortId(item.parent)}` : "";
  const saved = item.saved === undefined ? "" : `${cost(item.saved)} saved`;
  const rest = [origin, saved].filter(Boolean).join(", ");
  return shown === null ? { main: rest } : { main: shown, more: rest };
}

function doingText(
  { key, attempt, since, words }: NonNullable<RunItem["doing"]>[number],
  all: readonly unknown[],
  report: string | null,
): What {
  return {
    main: (
      <>
        <b>{key}</b>
        {attempt > 1 && `, attempt ${attempt}`} for {duration(now.value - since)}
        {all.length > 1 && `, and ${plural(all.length - 1, "other call")}`}
      </>
    ),
    more: words === undefined || words === "" ? report : <em class="type">{`…${words}`}</em>,
  };
}

/** A few; all of them are on the page of the run. */
const mostTags = 3;

function Tags({ tags = {} }: { tags: RunItem["tags"] }): JSX.Element {
  return (
    <>
      {Object.entries(tags)
        .slice(0, mostTags)
        .map(([name, value]) => (
          <TagLink key={name} name={name} value={value} />
        ))}
    </>
  );
}

function tookOf({ status, createdAt, updatedAt, workflow }: RunItem): string {
  if (workflow === "") return "";
  const isOpen =
    status === "running" || status === "suspended" || status === "paused" || status === "blocked";
  return duration((isOpen ? now.value : updatedAt) - createdAt);
}
