/** The head of a run: its status, what can be done, where it comes from, and its sums. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { exported, exportHref, postAction } from "../lib/api.ts";
import { cost, count, duration, plural } from "../lib/format.ts";
import { diffPath, go, runPath } from "../lib/router.ts";
import { copy, messageOf, now, say } from "../lib/state.ts";
import { Dialog, Link, RunLink, Status } from "./basic.tsx";

export interface RunHeadProps {
  readonly run: RunPage;
  readonly canAct: boolean;
  readonly onAnswer: () => void;
  readonly onFork: () => void;
  readonly onChange: () => void;
}

export function RunHead(props: RunHeadProps): JSX.Element {
  const { run, canAct } = props;
  return (
    <div class="head">
      <Status status={run.status} sleeping={run.sleeping} />
      <h1>{run.workflow === "" ? "journal" : run.workflow}</h1>
      <button
        type="button"
        class="id quiet"
        title="Copy the id"
        onClick={() => void copy(run.runId, "the id")}
      >
        {run.runId}
      </button>
      {run.version !== null && <span class="tag">version {run.version}</span>}
      {run.chapter > 1 && <span class="tag">chapter {run.chapter}</span>}
      <span class="sp" />
      {canAct && <Actions {...props} />}
      {exported === null && <Share run={run} />}
    </div>
  );
}

function Action({
  name,
  main = false,
  onClick,
}: {
  name: string;
  main?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button type="button" class={main ? "btn p" : "btn"} onClick={onClick}>
      {name}
    </button>
  );
}

/** Only what is possible now. */
function Actions({ run, onAnswer, onFork, onChange }: RunHeadProps): JSX.Element {
  const cancelling = useSignal(false);
  const act = async (action: "retry" | "wake"): Promise<void> => {
    try {
      const { message, runId } = await postAction(run.runId, action);
      say(message);
      onChange();
      if (runId !== run.runId) go(runPath(runId));
    } catch (error) {
      say(messageOf(error), true);
    }
  };
  const waits = run.waits.some(({ answered }) => !answered);
  const isStuck = run.status === "failed" || run.status === "blocked";
  const isAsleep = run.rows.some(({ kind, status }) => kind === "sleep" && status === "open");
  return (
    <>
      {waits && <Action name="Answer" main onClick={onAnswer} />}
      {isStuck && run.hasCode && <Action name="Retry" main onClick={() => void act("retry")} />}
      {isAsleep && <Action name="Wake" onClick={() => void act("wake")} />}
      {run.hasCode && run.rows.length > 0 && <Action name="Fork" onClick={onFork} />}
      {run.endedAt === null && run.workflow !== "" && (
        <Action name="Cancel" onClick={() => (cancelling.value = true)} />
      )}
      {cancelling.value && (
        <CancelDialog run={run} onClose={() => (cancelling.value = false)} onChange={onChange} />
      )}
    </>
  );
}

function CancelDialog({
  run,
  onClose,
  onChange,
}: {
  run: RunPage;
  onClose: () => void;
  onChange: () => void;
}): JSX.Element {
  const reason = useSignal("");
  const cancel = async (): Promise<void> => {
    try {
      say((await postAction(run.runId, "cancel", { reason: reason.value })).message);
    } catch (error) {
      say(messageOf(error), true);
    }
    onClose();
    onChange();
  };
  return (
    <Dialog title="Cancel this run?" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void cancel();
        }}
      >
        <p>
          Run <b>{run.runId}</b> and its children end now. What is recorded stays, and can still be forked.
        </p>
        <label>
          Reason <small>optional</small>
          <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
        <div class="buttons">
          <button type="submit" class="btn danger">
            Cancel the run
          </button>
          <button type="button" class="btn" onClick={onClose}>
            Keep it running
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Share({ run }: { run: RunPage }): JSX.Element {
  return (
    <details class="menu">
      <summary class="btn">Share</summary>
      <div class="menu-list">
        <button type="button" onClick={() => void copy(window.location.href, "the link")}>
          Copy link
        </button>
        <a href={exportHref(run.runId, true)} download={`${run.runId}.html`}>
          HTML file, redacted
        </a>
        <a href={exportHref(run.runId, false)} download={`${run.runId}.html`}>
          HTML file, everything
        </a>
        <button type="button" onClick={() => void copy(`durable show ${run.runId}`, "the command")}>
          Copy command
        </button>
      </div>
    </details>
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
