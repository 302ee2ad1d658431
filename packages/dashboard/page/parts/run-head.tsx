/** The head of a run: what it does now in one sentence, what it is, and what can be done. */

import { exampleIn } from "@durable/core/inspect";
import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { exported, saveExport } from "../lib/api.ts";
import { clock, fullTime, zoneName } from "../lib/format.ts";
import { copy, messageOf, now, say } from "../lib/state.ts";
import { sentenceOf } from "../lib/story.ts";
import { Link, Status, TagLink } from "./basic.tsx";
import { GiveScore, KeepExample, ScoreTags } from "./example.tsx";
import { Actions, type ActionsProps } from "./run-actions.tsx";

/** The time of an exported file is that of its making. */
export const timeOf = (run: RunPage): number => (exported === null ? now.value : run.now);

export function RunHead(props: ActionsProps & { readonly canAct: boolean }): JSX.Element {
  const { run, canAct } = props;
  const name = run.workflow === "" ? "journal" : run.workflow;
  const time = timeOf(run);
  return (
    <>
      {exported === null && (
        <nav class="crumb" aria-label="Path">
          <Link to="/">Runs</Link>
          {run.workflow !== "" && (
            <Link to={`/?${new URLSearchParams({ workflow: run.workflow }).toString()}`}>{name}</Link>
          )}
          <span class="id">{run.runId}</span>
        </nav>
      )}
      <div class="head">
        <h1>
          <Status state={run.state} />{" "}
          {sentenceOf(run, time).map(({ text, is }, i) =>
            is === undefined ? (
              <span key={i}>{text}</span>
            ) : (
              <b key={i} class={`is-${is} ${run.state}`}>
                {text}
              </b>
            ),
          )}
        </h1>
        <About run={run} name={name} />
        <div class="actions">
          {canAct && <Actions {...props} />}
          {canAct && <GiveScore runId={run.runId} onChange={props.onChange} />}
          {canAct && (
            <KeepExample runId={run.runId} example={exampleIn(run.scores)} onChange={props.onChange} />
          )}
          {exported === null && <Share run={run} />}
        </div>
      </div>
    </>
  );
}

/** What the run is: its names, its tags, its times and its trace. */
function About({ run, name }: { readonly run: RunPage; readonly name: string }): JSX.Element {
  const time = timeOf(run);
  const began = clock(run.startedAt, time);
  const zone = zoneName(run.startedAt);
  return (
    <p class="about">
      <b>{name}</b>
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
      {Object.entries(run.tags).map(([key, value]) => (
        <TagLink key={key} name={key} value={value} />
      ))}
      <ScoreTags scores={run.scores} />
      <span class="faint" title={fullTime(run.startedAt)}>
        {run.endedAt === null ? `began ${began} ${zone}` : `${began} to ${clock(run.endedAt, time)} ${zone}`}
      </span>
      {run.deadline !== null && run.endedAt === null && (
        <span class="faint">has to end by {fullTime(run.deadline)}</span>
      )}
      {run.traceUrl !== undefined && (
        <a class="link" href={run.traceUrl} target="_blank" rel="noopener noreferrer">
          trace {run.trace.slice(0, 8)}
        </a>
      )}
    </p>
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
        <button type="button" onClick={() => void copy(run.trace, "the trace id")}>
          Copy trace id
        </button>
      </div>
    </details>
  );
}
