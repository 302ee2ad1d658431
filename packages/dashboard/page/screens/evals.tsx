/** Evals: the list of reports, and one report after the other. */

import "../evals.css";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { EvalItem } from "../../src/api-evals.ts";
import { getEval, getEvals } from "../lib/api.ts";
import { verdictOf } from "../lib/eval-text.ts";
import { clock, cost, fullTime, plural, zoneName } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { now } from "../lib/state.ts";
import { Empty, Link, Problem } from "../parts/basic.tsx";
import { Cases } from "../parts/eval-cases.tsx";
import { RunByRun, Scores, Thresholds, Title, Variants } from "../parts/eval-parts.tsx";

export function EvalsScreen({ runId }: { readonly runId: string }): JSX.Element {
  return runId === "" ? <EvalList /> : <EvalReport key={runId} runId={runId} />;
}

function EvalList(): JSX.Element {
  const cursor = queryOf("cursor");
  const { data, reload } = useLoad(`evals ${cursor}`, () => getEvals(cursor));
  const { value, error } = data.value;
  if (value === null)
    return error === null ? (
      <p class="soft pane">Reading the evals…</p>
    ) : (
      <Problem text={error} onRetry={() => void reload()} />
    );
  const { reports, next } = value;
  return (
    <div class="evals">
      <div class="hd">
        <h1>Evals</h1>
        <span class="soft">Is the new prompt better? Recorded runs, asked again.</span>
      </div>
      <div class="card">
        {reports.length === 0 ? (
          <Empty title="No eval has a report here yet.">
            <p>
              <code>durable eval &lt;file&gt;</code> asks recorded runs again with another prompt or model,
              and keeps its report.
            </p>
          </Empty>
        ) : (
          <ul class="eval-list">
            {reports.map((item) => (
              <EvalLine key={item.runId} item={item} />
            ))}
          </ul>
        )}
      </div>
      {next !== null && (
        <button type="button" class="btn" onClick={() => setQuery({ cursor: next })}>
          Older reports
        </button>
      )}
    </div>
  );
}

function EvalLine({ item }: { readonly item: EvalItem }): JSX.Element {
  const { runId, name, at, runs, passed, paid, best } = item;
  return (
    <li>
      <Link to={`/evals/${encodeURIComponent(runId)}`}>
        <span class={passed ? "st done" : "st fail"}>{passed ? "Passed" : "Missed"}</span>
        <b>{name}</b>
        <span>{verdictOf(best)}</span>
        <span class="soft">{[plural(runs, "run"), cost(paid)].filter(Boolean).join(", ")}</span>
        <time class="faint" title={fullTime(at)}>
          {clock(at, now.value)}
        </time>
      </Link>
    </li>
  );
}

function EvalReport({ runId }: { readonly runId: string }): JSX.Element {
  const { data, reload } = useLoad(`eval ${runId}`, () => getEval(runId));
  const { value: report, error } = data.value;
  useEffect(() => {
    if (report !== null) document.title = `${report.name} · evals · durable`;
  }, [report]);
  if (report === null)
    return error === null ? (
      <p class="soft pane">Reading the report…</p>
    ) : (
      <Problem text={error} onRetry={() => void reload()} />
    );
  const { name, at, runs, more } = report;
  const shown = report.variants.some((one) => one.name === queryOf("variant"))
    ? queryOf("variant")
    : (report.variants[1]?.name ?? "");
  return (
    <div class="evals">
      <nav class="crumb" aria-label="Path">
        <Link to="/evals">Evals</Link>
        <span>{name}</span>
        <span class="id" title={fullTime(at)}>
          {clock(at, now.value)} {zoneName(at)}
        </span>
      </nav>
      <Title report={report} />
      <p class="soft">{plural(runs, "recorded run")}. Everything before the cut came from the journals.</p>
      <Variants report={report} />
      <div class="eval-mid">
        <Scores report={report} />
        <div>
          <RunByRun report={report} variant={shown} />
          <Thresholds checks={report.checks} />
        </div>
      </div>
      <Cases report={report} variant={shown} />
      {more && (
        <p class="soft">There are more runs than are shown. The file of the report has all of them.</p>
      )}
    </div>
  );
}
