/** One line of the list of runs. */

import type { JSX } from "preact";
import type { RunItem, Summary } from "../../src/api.ts";
import { clock, cost, count, duration, fullTime, shortId, zoneName } from "../lib/format.ts";
import { runPath } from "../lib/router.ts";
import { now } from "../lib/state.ts";
import { Link, Status, TagLink } from "./basic.tsx";

export function RunsHeader(): JSX.Element {
  return (
    <div class="virtual-head run-line" role="row" aria-rowindex={1}>
      {["Status", "Workflow", "Steps", "What", "Started", "Took", "Tokens", "Cost"].map((name, i) => (
        <span
          key={name}
          role="columnheader"
          class={`c${i} ${i > 3 ? "n" : ""}`}
          title={name === "Started" ? `Times in ${zoneName(now.value)}` : undefined}
        >
          {name}
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
  readonly summary: Summary | undefined;
}

export function RunLine({ item, depth, index, chosen, summary }: RunLineProps): JSX.Element {
  const { runId, state, label, createdAt } = item;
  const isBelow = depth > 0;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      class={`run-line ${chosen ? "sel" : ""} ${isBelow ? "fork" : ""}`}
    >
      <span role="gridcell" class="c0">
        <Status state={state} damaged={item.blocked?.code === "corrupt"} />
      </span>
      <span role="gridcell" class="c1" style={{ paddingLeft: `${Math.min(depth, 4) * 22}px` }}>
        <Link to={runPath(runId)} title={runId}>
          {isBelow && <i class="elbow" aria-hidden="true" />}
          {nameOf(item, summary, isBelow)} <span class="id">{shortId(runId)}</span>
        </Link>
        {label !== null && <span class="tag">{label}</span>}
      </span>
      <span role="gridcell" class="c2">
        <Spark summary={summary} />
      </span>
      <span role="gridcell" class="c3">
        <What item={item} summary={summary} isBelow={isBelow} />
        <Tags tags={item.tags} />
        {item.report !== undefined && (
          <span class="soft" title={item.report}>
            {item.report}
          </span>
        )}
      </span>
      <span role="gridcell" class="c4 n soft" title={fullTime(createdAt)}>
        {clock(createdAt, now.value)}
      </span>
      <span role="gridcell" class="c5 n">
        {tookOf(item, summary)}
      </span>
      <span role="gridcell" class="c6 n">
        {summary !== undefined && summary.tokens > 0 ? count(summary.tokens) : ""}
      </span>
      <span role="gridcell" class="c7 n">
        {cost(summary?.cost)}
      </span>
    </div>
  );
}

function nameOf({ workflow, isFork }: RunItem, summary: Summary | undefined, isBelow: boolean): string {
  if (isBelow && isFork && summary !== undefined && summary.at !== null)
    return `from ${summary.at.slice(summary.at.lastIndexOf("/") + 1)}`;
  return workflow === "" ? "journal" : workflow;
}

function Spark({ summary }: { summary: Summary | undefined }): JSX.Element | null {
  if (summary === undefined) return null;
  const { marks, settled, fromJournal } = summary;
  return (
    <span class="spark" role="img" aria-label={`${settled} calls, ${fromJournal} from the journal`}>
      {marks.map((mark, i) => (
        <i key={i} class={mark} />
      ))}
    </span>
  );
}

function What({
  item,
  summary,
  isBelow,
}: {
  item: RunItem;
  summary: Summary | undefined;
  isBelow: boolean;
}): JSX.Element | null {
  if (item.blocked !== undefined)
    return (
      <span class="soft" title={item.blocked.message}>
        {item.blocked.message}
      </span>
    );
  const [doing] = item.doing ?? [];
  if (doing !== undefined)
    return (
      <span class="soft" title={item.doing?.map(({ key }) => key).join(", ")}>
        {doing.key} <span class="faint">{duration(now.value - doing.since)}</span>
      </span>
    );
  if (summary === undefined) return null;
  const { waits, error, running, sleepsUntil, fromJournal, settled } = summary;
  const [wait] = waits;
  if (error !== null)
    return (
      <span class="soft" title={error}>
        {error}
      </span>
    );
  if (wait !== undefined) {
    const left = wait.expiresAt === null ? "" : `, ${duration(Math.max(0, wait.expiresAt - now.value))} left`;
    return (
      <>
        {waits.slice(0, 3).map(({ name }, i) => (
          <span key={i} class="tag">
            {name}
          </span>
        ))}{" "}
        <span class="faint">{duration(now.value - wait.since) + left}</span>
      </>
    );
  }
  if (sleepsUntil !== null) return <span class="soft">until {clock(sleepsUntil, now.value)}</span>;
  if (running !== null) return <span class="soft">{running}</span>;
  if (fromJournal > 0) return <span class="faint">{`${fromJournal} of ${settled} from the journal`}</span>;
  if (item.parent !== null && !isBelow)
    return <span class="faint">{`${item.isFork ? "fork" : "child"} of ${shortId(item.parent)}`}</span>;
  return null;
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

function tookOf({ status, createdAt, updatedAt, workflow }: RunItem, summary: Summary | undefined): string {
  if (workflow === "") return "";
  const isOpen =
    status === "running" || status === "suspended" || status === "paused" || status === "blocked";
  return duration((isOpen ? now.value : (summary?.endedAt ?? updatedAt)) - createdAt);
}
