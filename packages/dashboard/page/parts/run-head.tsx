/** The head of a run: its status, what can be done, where it comes from, and its sums. */

import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { exported, saveExport } from "../lib/api.ts";
import { clock, cost, count, duration, fullTime, plural } from "../lib/format.ts";
import { diffPath, setQuery } from "../lib/router.ts";
import { copy, messageOf, now, say } from "../lib/state.ts";
import { Link, RunLink, Status, TagLink } from "./basic.tsx";
import { Actions, type ActionsProps } from "./run-actions.tsx";

export function RunHead(props: ActionsProps & { readonly canAct: boolean }): JSX.Element {
  const { run, canAct } = props;
  return (
    <div class="head">
      <Status state={run.state} />
      <h1>{run.workflow === "" ? "journal" : run.workflow}</h1>
      <button
        type="button"
        class="id quiet"
        title="Copy the id"
        onClick={() => void copy(run.runId, "the id")}
      >
        {run.runId}
      </button>
      <Until run={run} />
      {run.version !== null && <span class="tag">version {run.version}</span>}
      {run.chapter > 1 && <span class="tag">chapter {run.chapter}</span>}
      {Object.entries(run.tags).map(([name, value]) => (
        <TagLink key={name} name={name} value={value} />
      ))}
      <span class="sp" />
      {canAct && <Actions {...props} />}
      {exported === null && <Share run={run} />}
    </div>
  );
}

/** How long a run sleeps or waits. */
function Until({ run }: { run: RunPage }): JSX.Element | null {
  const { wakeAt } = run;
  if (run.status !== "suspended" || wakeAt === null) return null;
  const time = exported === null ? now.value : run.now;
  const expires = run.waits.some(({ expiresAt }) => expiresAt === wakeAt);
  const left = wakeAt - time;
  return (
    <span class="soft" title={fullTime(wakeAt)}>
      {left <= 0 ? "due since" : expires ? "expires" : "wakes"} {clock(wakeAt, time)}
      {left > 0 && `, in ${duration(left)}`}
    </span>
  );
}

async function save(runId: string, redact: boolean): Promise<void> {
  try {
    await saveExport(runId, redact);
  } catch (error) {
    say(messageOf(error), true);
  }
}

function Share({ run }: { run: RunPage }): JSX.Element {
  return (
    <details class="menu">
      <summary class="btn">Share</summary>
      <div class="menu-list">
        <button type="button" onClick={() => void copy(window.location.href, "the link")}>
          Copy link
        </button>
        <button type="button" onClick={() => void save(run.runId, true)}>
          HTML file, redacted
        </button>
        <button type="button" onClick={() => void save(run.runId, false)}>
          HTML file, everything
        </button>
        <button type="button" onClick={() => void copy(`durable show ${run.runId}`, "the command")}>
          Copy command
        </button>
      </div>
    </details>
  );
}

/** How many retries have a line. */
const retriesShown = 3;

function Retries({ run }: { run: RunPage }): JSX.Element {
  return (
    <>
      {run.retries.slice(-retriesShown).map(({ at, problem, row }) => (
        <div key={at} class="banner" role="status">
          <b>Retried</b> at {clock(at, now.value)}
          {problem !== undefined && ` after ${problem}`}
          {row !== null && (
            <button type="button" class="link" onClick={() => setQuery({ step: row, tab: null })}>
              show
            </button>
          )}
        </div>
      ))}
    </>
  );
}

export function Lineage({ run }: { run: RunPage }): JSX.Element | null {
  const { lineage, parentRun, totals, blocked } = run;
  const isFork = lineage !== null && lineage.parent !== null;
  const at = isFork
    ? [...lineage.from, ...lineage.after, ...lineage.edited.map((key) => `${key} (edited)`)]
    : [];
  return (
    <>
      {blocked !== null && (
        <div class="banner blocked" role="status">
          <b>Blocked</b> {blocked.message} <span class="tag">{blocked.code}</span>
        </div>
      )}
      <Retries run={run} />
      {run.undoing !== null && (
        <div class="banner" role="status">
          <b>{run.undoing.status === "cancelled" ? "Cancelling" : "Failing"}</b> since{" "}
          {clock(run.undoing.since, now.value)}
          <span class="soft">Its clean-ups and compensations run.</span>
        </div>
      )}
      {run.paused !== null && (
        <div class="banner" role="status">
          <b>Paused</b> since {clock(run.paused.since, now.value)}
          {typeof run.paused.reason === "string" && `: ${run.paused.reason}`}
          <span class="soft">Answers and messages are recorded.</span>
        </div>
      )}
      {parentRun !== null && (
        <div class="banner">
          {isFork ? "Fork of" : "Child of"} <RunLink runId={parentRun} />
          {lineage?.label !== null && lineage?.label !== undefined && (
            <span class="tag">{lineage.label}</span>
          )}
          {at.length > 0 && <span>at {at.join(", ")}.</span>}
          {isFork && (
            <span class="soft">
              {totals.fromJournal} of {plural(totals.settled, "call")} came from the journal.
            </span>
          )}
          <span class="sp" />
          {isFork && exported === null && (
            <Link to={diffPath(parentRun, run.runId)} class="link">
              Compare with its parent
            </Link>
          )}
        </div>
      )}
    </>
  );
}

export function Stats({ run }: { run: RunPage }): JSX.Element {
  const { totals, startedAt, endedAt } = run;
  const { spent, reused } = totals;
  const tokens = spent.inputTokens + spent.outputTokens;
  const saved = [cost(reused.cost), totals.reusedMs > 0 ? duration(totals.reusedMs) : ""].filter(
    (part) => part !== "",
  );
  const over = (endedAt ?? (exported === null ? now.value : run.now)) - startedAt;
  return (
    <dl class="stats">
      <Stat name="Busy" value={duration(totals.busyMs)} />
      <Stat name="Over" value={duration(over)} />
      <Stat
        name="Steps"
        value={`${totals.settled}${totals.failedAttempts > 0 ? `, ${plural(totals.failedAttempts, "failed attempt")}` : ""}`}
      />
      {run.deadline !== null && endedAt === null && (
        <Stat name="Has to end by" value={fullTime(run.deadline)} />
      )}
      {tokens > 0 && (
        <Stat name="Tokens" value={`${count(spent.inputTokens)} in, ${count(spent.outputTokens)} out`} />
      )}
      {spent.cost !== null && tokens > 0 && <Stat name="Spent" value={cost(spent.cost)} />}
      {totals.fromJournal > 0 && saved.length > 0 && (
        <Stat name="Saved by the journal" value={saved.join(", ")} />
      )}
    </dl>
  );
}

function Stat({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
