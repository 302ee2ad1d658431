/** Runs of an eval, before and after, regressions first. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { EvalCase, EvalReport } from "../../src/api-evals.ts";
import { scoreText } from "../lib/eval-text.ts";
import { plural } from "../lib/format.ts";
import { useKeys } from "../lib/hooks.ts";
import { diffPath, queryOf, runPath, setQuery } from "../lib/router.ts";
import { wordDiff } from "../lib/words.ts";
import { Link, RunLink } from "./basic.tsx";
import { classOf, costOr } from "./eval-parts.tsx";
import { KeepExample } from "./example.tsx";
import { Pieces } from "./pieces.tsx";

const kinds: readonly (readonly [name: string, verdicts: readonly EvalCase["verdict"][]])[] = [
  ["Worse", ["worse"]],
  ["No answer", ["stopped", "failed", "skipped"]],
  ["Better", ["better"]],
  ["Same", ["same"]],
];
/** Cases that are shown at once. */
const page = 50;

interface CasesProps {
  readonly report: EvalReport;
  readonly variant: string;
}

export function Cases({ report, variant }: CasesProps): JSX.Element {
  const own = report.cases.filter((one) => one.variant === variant);
  const groups = kinds
    .map(([name, verdicts]) => ({ name, cases: own.filter(({ verdict }) => verdicts.includes(verdict)) }))
    .filter(({ cases }) => cases.length > 0);
  const shown = groups.find(({ name }) => name.toLowerCase() === queryOf("show")) ?? groups[0];
  const most = page * Number(queryOf("pages") || 1);
  useKeys({ j: () => step(1), k: () => step(-1) });
  if (shown === undefined) return <p class="soft">No run was asked.</p>;
  return (
    <section aria-label="Before and after">
      <div class="chips eval-chips" role="group" aria-label="Show">
        <h2>Before and after</h2>
        {groups.map(({ name, cases }) => (
          <button
            key={name}
            type="button"
            class={name === shown.name ? "chip on" : "chip"}
            aria-pressed={name === shown.name}
            onClick={() => setQuery({ show: name.toLowerCase(), pages: null })}
          >
            <i class={classOf(cases[0]?.verdict ?? "same")} />
            {name}
            <b>{cases.length}</b>
          </button>
        ))}
        <span class="sp" />
        <span class="soft hide">
          <kbd>j</kbd> <kbd>k</kbd> next and previous
        </span>
      </div>
      {shown.cases.slice(0, most).map((one) => (
        <Case key={one.runId} one={one} scores={report.scores} />
      ))}
      {shown.cases.length > most && (
        <button type="button" class="btn" onClick={() => setQuery({ pages: String(most / page + 1) })}>
          Show {Math.min(page, shown.cases.length - most)} more
        </button>
      )}
    </section>
  );
}

/** Goes to the next or the previous run. */
function step(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(".eval-case")];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function Case({ one, scores }: { readonly one: EvalCase; readonly scores: readonly string[] }): JSX.Element {
  const { runId, forkId, label, variant, verdict, beforeText, afterText, reason } = one;
  const pieces = useMemo(() => wordDiff(beforeText, afterText), [one]);
  return (
    <article class={`card eval-case ${classOf(verdict)}`} tabIndex={-1} aria-label={label ?? runId}>
      <header>
        <h3>{label ?? runId}</h3>
        <RunLink runId={runId} />
        <span class="sp" />
        <span class={`verdict ${classOf(verdict)}`}>{verdict}</span>
      </header>
      <div class="ba">
        <div>
          <small>record</small>
          <p dir="auto">
            <Pieces all={pieces.before} />
          </p>
        </div>
        <div>
          <small>{variant}</small>
          <p dir="auto">{reason === null ? <Pieces all={pieces.after} /> : <i class="wait">{reason}</i>}</p>
        </div>
        <div>
          <Changes one={one} scores={scores} />
          <Reused one={one} />
          <div class="buttons">
            <Link to={runPath(forkId)} class="btn s">
              Open fork
            </Link>
            <Link to={diffPath(runId, forkId)} class="btn s">
              Compare calls
            </Link>
            <KeepExample runId={runId} example={null} small />
          </div>
        </div>
      </div>
    </article>
  );
}

/** More answers than this are not drawn. */
const mostDrawn = 60;

/** What was paid for one run, and what came from its journal. */
function Reused({ one: { paid, reused } }: { readonly one: EvalCase }): JSX.Element | null {
  const all = paid.calls + reused.calls;
  if (all === 0) return null;
  const isKnown = paid.cost !== null && reused.cost !== null;
  const [a, b] = [paid, reused].map((one) => costOr(isKnown ? one : { ...one, cost: null }));
  return (
    <div class="reused">
      {all <= mostDrawn && (
        <div class="asked" aria-hidden="true">
          {Array.from({ length: all }, (_, i) => (
            <i key={i} class={i < reused.calls ? "saved" : ""} />
          ))}
        </div>
      )}
      <small>
        {reused.calls} of {plural(all, "answer")} reused: {a} paid, {b} saved
      </small>
    </div>
  );
}

function Changes({
  one,
  scores,
}: {
  readonly one: EvalCase;
  readonly scores: readonly string[];
}): JSX.Element {
  const { before, after, scored } = one;
  return (
    <ul>
      {scores.map((name) => {
        const [was, is] = [before[name] ?? null, after[name] ?? null];
        const kind = is === null || was === null || was === is ? "soft" : is < was ? "bad" : "ok";
        return (
          <li key={name}>
            <span>{name}</span>
            <span class={kind}>
              {scoreText(was)} → <b>{scoreText(is)}</b>
            </span>
          </li>
        );
      })}
      {scored.map(({ name, value, note }) => (
        <li key={`given ${name}`} class="soft">
          <span>
            {name}, of the record{note !== "" && `: ${note}`}
          </span>
          <span>{scoreText(value)}</span>
        </li>
      ))}
    </ul>
  );
}
