/** A report of an eval: variants side by side, scores with their intervals, and what became of each run. */

import type { JSX } from "preact";
import type { EvalAmount, EvalCase, EvalEstimate, EvalReport, EvalVariant } from "../../src/api-evals.ts";
import { around, bestIn, percent, points, verdictOf } from "../lib/eval-text.ts";
import { cost, count, duration, plural } from "../lib/format.ts";
import { setQuery } from "../lib/router.ts";

interface Of {
  readonly report: EvalReport;
}

export function Title({ report }: Of): JSX.Element {
  return (
    <div class="hd">
      <h1>{verdictOf(bestIn(report))}</h1>
    </div>
  );
}

/** The colour of a variant; the record has none. */
const colour = (index: number): string => `v${index === 0 ? 0 : 1 + ((index - 1) % 3)}`;

export function Variants({ report }: Of): JSX.Element {
  const { variants, scores, paid, reused, judges, providerTools } = report;
  const [primary = ""] = scores;
  const best = bestIn(report);
  return (
    <section class="card eval-vars" aria-label="Variants">
      {variants.map((one, i) => (
        <Variant key={one.name} variant={one} index={i} score={primary} best={best?.name ?? ""} />
      ))}
      <div>
        <h2>Paid for this report</h2>
        <strong class="sum">
          {costOr(paid)}
          <small class="ok">{costOr(reused)} saved by reuse</small>
        </strong>
        <Share paid={paid} reused={reused} />
        <p>
          {plural(paid.calls, "answer")} paid
          {judges.calls > 0 && `, ${judges.calls} of them by judges`}. {plural(reused.calls, "answer")} before
          the cut, and all of the record, came from the journals.
        </p>
        {providerTools.length > 0 && (
          <p class="wait">
            These tools ran at the provider, which no eval can stop: {providerTools.join(", ")}.
          </p>
        )}
      </div>
    </section>
  );
}

interface VariantProps {
  readonly variant: EvalVariant;
  readonly index: number;
  readonly score: string;
  readonly best: string;
}

function Variant({ variant, index, score, best }: VariantProps): JSX.Element {
  const { name, n, scores, paid, none } = variant;
  const one = scores[score];
  return (
    <div class={`eval-var ${colour(index)}`}>
      <h2>
        {name} {index === 0 && <span class="tag">baseline</span>}
        {name === best && <span class="tag win">best</span>}
      </h2>
      <strong>
        {one === undefined ? "–" : percent(one.mean)}
        {one !== undefined && <small>{around(one)}</small>}
      </strong>
      <p>
        {score}, n {n}
        {index > 0 && `; ${amount(paid)}`}
        {none > 0 && `; ${none} without an answer`}
      </p>
      {one !== undefined && <Interval estimate={one} />}
    </div>
  );
}

const within = (value: number): string => `${100 * Math.min(1, Math.max(0, value))}%`;

/** An interval between 0 and 1. */
function Interval({ estimate: { mean, low, high } }: { readonly estimate: EvalEstimate }): JSX.Element {
  return (
    <div class="ci" aria-hidden="true">
      <i style={{ left: within(low), width: within(high - low) }} />
      <b style={{ left: within(mean) }} />
    </div>
  );
}

function amount({ calls, tokens, cost: value }: EvalAmount): string {
  return [plural(calls, "answer"), `${count(tokens)} tokens`, cost(value)].filter(Boolean).join(", ");
}

export const costOr = ({ cost: value, tokens }: EvalAmount): string =>
  cost(value) || `${count(tokens)} tokens`;

function Share({
  paid,
  reused,
}: {
  readonly paid: EvalAmount;
  readonly reused: EvalAmount;
}): JSX.Element | null {
  const [a, b] =
    paid.cost === null || reused.cost === null ? [paid.tokens, reused.tokens] : [paid.cost, reused.cost];
  if (a + b === 0) return null;
  const share = Math.round((100 * a) / (a + b));
  return (
    <div class="pay" role="img" aria-label={`${share} percent paid, ${100 - share} percent saved`}>
      <i style={{ flexGrow: a }} />
      <i class="saved" style={{ flexGrow: b }} />
    </div>
  );
}

export function Scores({ report: { scores, variants } }: Of): JSX.Element {
  return (
    <section class="card" aria-label="Scores">
      <header>
        <h2>Scores</h2>
        <span class="faint">95 % interval; each run against itself in the record</span>
      </header>
      <div class="eval-scroll" tabIndex={0} role="group" aria-label="Table of scores">
        <table class="eval-scores">
          <thead>
            <tr>
              <th scope="col">Measure</th>
              {variants.map(({ name }, i) => (
                <th key={name} scope="col" class={colour(i)}>
                  {name}
                </th>
              ))}
              <th scope="col" class="forest">
                worse ← against the record → better
              </th>
            </tr>
          </thead>
          <tbody>
            {scores.map((score) => (
              <ScoreRow key={score} score={score} variants={variants} />
            ))}
            <TimeRow variants={variants} />
          </tbody>
        </table>
      </div>
    </section>
  );
}

function ScoreRow({
  score,
  variants,
}: {
  readonly score: string;
  readonly variants: readonly EvalVariant[];
}): JSX.Element {
  const most = Math.max(0, ...variants.map(({ scores }) => scores[score]?.mean ?? 0));
  const n = Math.max(0, ...variants.map(({ scores }) => scores[score]?.n ?? 0));
  return (
    <tr>
      <th scope="row">
        {score}
        <small>n {n}</small>
      </th>
      {variants.map(({ name, scores }) => {
        const one = scores[score];
        return (
          <td key={name}>
            {one === undefined ? "–" : one.mean === most ? <b>{percent(one.mean)}</b> : percent(one.mean)}
            {one !== undefined && <small>{around(one)}</small>}
          </td>
        );
      })}
      <td class="forest">
        <Forest score={score} variants={variants} />
      </td>
    </tr>
  );
}

/** How long models took for what was asked again. */
function TimeRow({ variants }: { readonly variants: readonly EvalVariant[] }): JSX.Element | null {
  const least = Math.min(...variants.map(({ time }) => time?.median ?? Infinity));
  if (least === Infinity) return null;
  return (
    <tr>
      <th scope="row">
        Time, median<small>of models, per run</small>
      </th>
      {variants.map(({ name, time }) => (
        <td key={name}>
          {time === null ? (
            "–"
          ) : time.median === least ? (
            <b>{duration(time.median)}</b>
          ) : (
            duration(time.median)
          )}
          {time !== null && <small>p95 {duration(time.p95)}</small>}
        </td>
      ))}
      <td class="forest" />
    </tr>
  );
}

const [width, line] = [250, 17] as const;

/** The change of each variant with its interval, around zero. */
function Forest({
  score,
  variants,
}: {
  readonly score: string;
  readonly variants: readonly EvalVariant[];
}): JSX.Element | null {
  const changes = variants.flatMap(({ name, scores }, i) => {
    const change = scores[score]?.change;
    return change ? [{ name, change, index: i }] : [];
  });
  if (changes.length === 0) return null;
  const most = Math.max(
    0.05,
    ...changes.flatMap(({ change }) => [Math.abs(change.low), Math.abs(change.high)]),
  );
  const at = (value: number): number => width / 2 + (value / most) * (width / 2 - 42);
  const height = line * changes.length + 6;
  const words = changes.map(
    ({ name, change }) =>
      `${name} ${points(change.mean)}, from ${points(change.low)} to ${points(change.high)}`,
  );
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words.join("; ")}>
      <path class="zero" d={`M${width / 2} 0V${height}`} />
      {changes.map(({ name, change, index }, i) => {
        const y = line * i + line / 2 + 3;
        // On the side away from zero, whose line would go through it.
        const place =
          change.mean < 0
            ? { x: at(change.low) - 6, "text-anchor": "end" as const }
            : { x: at(change.high) + 6 };
        return (
          <g key={name} class={colour(index)}>
            <path d={`M${at(change.low)} ${y}H${at(change.high)}`} />
            <circle cx={at(change.mean)} cy={y} r={4} />
            <text {...place} y={y + 4}>
              {points(change.mean)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Whether an interval of the change leaves zero out. */
function certainty(change: EvalEstimate | null | undefined): string {
  if (!change) return "";
  return change.low > 0 || change.high < 0
    ? "The interval of the change leaves zero out."
    : "The interval of the change has zero in it: this may be chance.";
}

export function RunByRun({ report, variant }: Of & { readonly variant: string }): JSX.Element {
  const { variants, cases, scores } = report;
  const one = variants.find(({ name }) => name === variant);
  const own = cases.filter((each) => each.variant === variant);
  const { worse = 0, better = 0, same = 0, none = 0 } = one ?? {};
  const label = `${worse} worse, ${better} better, ${same} the same${none === 0 ? "" : `, ${none} without an answer`}`;
  return (
    <section class="card" aria-label="Run by run">
      <header>
        <h2>Run by run</h2>
        {variants.length > 2 && (
          <select
            aria-label="Variant"
            value={variant}
            onChange={(event) => setQuery({ variant: event.currentTarget.value })}
          >
            {variants.slice(1).map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </header>
      <div class="eval-pad">
        <div class="squares" role="img" aria-label={label}>
          {own.map(({ runId, verdict }) => (
            <i key={runId} class={classOf(verdict)} title={`${runId}: ${verdict}`} />
          ))}
        </div>
        <p>
          <b class="bad">{worse} worse</b>, <b class="ok">{better} better</b>, {same} the same
          {none > 0 && `, ${none} without an answer`}. {certainty(one?.scores[scores[0] ?? ""]?.change)}
        </p>
      </div>
    </section>
  );
}

/** The class of a verdict. */
export function classOf(verdict: EvalCase["verdict"]): string {
  return verdict === "worse" || verdict === "better" || verdict === "same" ? `q-${verdict}` : "q-none";
}

export function Thresholds({ checks }: { readonly checks: EvalReport["checks"] }): JSX.Element | null {
  if (checks.length === 0) return null;
  return (
    <section class="card eval-checks" aria-label="Thresholds">
      <header>
        <h2>Thresholds</h2>
      </header>
      <ul>
        {checks.map(({ text, passed }) => (
          <li key={text} class={passed ? "ok" : "bad"}>
            <b>{passed ? "kept" : "missed"}</b> {text}
          </li>
        ))}
      </ul>
    </section>
  );
}
