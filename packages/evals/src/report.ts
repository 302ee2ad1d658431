/** The report of an eval: data that is the same each time, with the forms in which people read it. */

import { plain, type ScoreView } from "@durable/core/inspect";
import { estimate, timesOf, type Estimate, type Times } from "./statistics.ts";
import { scoredOf, verdictKey, type Recorded, type Tried, type Verdicts } from "./tried.ts";
import { sumOf, type Amount, type Said, type Took } from "./measure.ts";
import { recordName, type Case, type EvalOptions } from "./options.ts";
import { numberOf } from "./scorers.ts";
import { htmlOf } from "./html.ts";
import { markdownOf } from "./markdown.ts";
import { textOf } from "./text.ts";

/** One score of one variant. */
export interface ScoreReport extends Estimate {
  /** The difference to the record, run by run; `null` for the record itself, and where no run has both. */
  readonly change: Estimate | null;
}

/** What a variant reached, beside the record. */
export interface VariantReport {
  readonly name: string;
  /** How many answers were scored. */
  readonly n: number;
  /** By name; without those that apply to no run. */
  readonly scores: Readonly<Record<string, ScoreReport>>;
  /** Against the record, by the first score. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Forks that asked for something off the record, failed, or did not begin. */
  readonly stopped: number;
  readonly failed: number;
  readonly skipped: number;
  readonly paid: Amount;
  readonly reused: Amount;
  /** Calls after the cut that were answered from the originals. */
  readonly answered: number;
  /** How long models took per run for what was asked again; of the record, the same calls. `null` where nothing was asked. */
  readonly time: Times | null;
}

/** One run with one variant: what was said before and after, and which is better. */
export interface CaseReport {
  readonly runId: string;
  readonly forkId: string;
  readonly label: string | null;
  /** What people and checks thought of the recorded run (`run.score`). */
  readonly scored: readonly GivenScore[];
  readonly variant: string;
  readonly verdict: "worse" | "better" | "same" | "stopped" | "failed" | "skipped";
  readonly before: Readonly<Record<string, number | null>>;
  readonly after: Readonly<Record<string, number | null>>;
  readonly beforeText: string;
  readonly afterText: string;
  readonly reason: string | null;
  readonly paid: Amount;
  readonly reused: Amount;
}

/** A score that the recorded run had before the eval. */
export type GivenScore = Pick<ScoreView, "name" | "value" | "note">;

/** A threshold, and whether it was reached. */
export interface Check {
  readonly text: string;
  readonly passed: boolean;
}

/** What an eval found. `JSON.stringify` gives the data; `text`, `markdown` and `html` (one file, without scripts) are for people. */
export interface Report {
  readonly name: string;
  /** The run of the eval. */
  readonly id: string;
  readonly runs: number;
  /** The names of the scores; the first decides what is better and worse. */
  readonly scores: readonly string[];
  /** The record first. */
  readonly variants: readonly VariantReport[];
  /** Regressions first. */
  readonly cases: readonly CaseReport[];
  /** What all forks, and the judges, were paid. */
  readonly paid: Amount;
  readonly judges: Amount;
  /** What came from the journals. */
  readonly reused: Amount;
  /** Tools that providers executed themselves, which no eval can stop. */
  readonly providerTools: readonly string[];
  readonly checks: readonly Check[];
  /** False when a threshold was missed. */
  readonly passed: boolean;
  text(): string;
  markdown(): string;
  html(): string;
}

interface Found {
  readonly id: string;
  readonly options: EvalOptions;
  readonly cases: readonly Case[];
  readonly recorded: ReadonlyMap<string, Recorded>;
  readonly tried: readonly Tried[];
  readonly verdicts: Verdicts;
}

type Scores = Readonly<Record<string, number | null>>;

export async function reportOf(found: Found): Promise<Report> {
  const { id, options, cases, recorded, tried, verdicts } = found;
  const scores = new Map<string, Scores>();
  const score = async (runId: string, variant: string, said: Said): Promise<void> => {
    const one = scoredOf(recorded.get(runId) as Recorded, { variant, said });
    scores.set(placeOf(runId, variant), await scoresOf(found, one));
  };
  for (const { runId, said } of recorded.values()) await score(runId, recordName, said);
  for (const { runId, variant, said, end } of tried) if (end === "said") await score(runId, variant, said);
  const names = [...new Set([...scores.values()].flatMap((one) => Object.keys(one)))];
  const rows = tried.map((one) => caseOf(found, one, { scores, primary: names[0] }));
  const variants = [recordName, ...options.variants.map(({ name }) => name)].map((name) =>
    variantOf({ id, name, names, scores, rows, runIds: [...recorded.keys()], tried }),
  );
  const checks = checksOf(options, variants, rows);
  const data = {
    name: options.name,
    id,
    runs: cases.length,
    scores: names,
    variants,
    cases: rows.toSorted((a, b) => rank[a.verdict] - rank[b.verdict]),
    paid: sumOf([...tried.map(({ paid }) => paid), ...judgesPaid(verdicts)]),
    judges: sumOf(judgesPaid(verdicts)),
    reused: sumOf(tried.map(({ reused }) => reused)),
    providerTools: [...new Set(tried.flatMap(({ providerTools }) => providerTools))].toSorted(),
    checks,
    passed: checks.every(({ passed }) => passed),
  };
  // `JSON.stringify` leaves these out.
  const forms = {
    text: { value: () => textOf(data) },
    markdown: { value: () => markdownOf(data) },
    html: { value: () => htmlOf(data) },
  };
  return Object.defineProperties(data as unknown as Report, forms);
}

/** What the forms are made from. */
export type ReportData = Omit<Report, "text" | "markdown" | "html">;

const rank = { worse: 0, stopped: 1, failed: 2, skipped: 3, better: 4, same: 5 };

function judgesPaid(verdicts: Verdicts): Amount[] {
  const byRun = new Map([...verdicts.values()].map(({ runId, paid }) => [runId, paid]));
  return [...byRun.values()];
}

const placeOf = (runId: string, variant: string): string => JSON.stringify([runId, variant]);

async function scoresOf(
  { options: { score }, verdicts }: Found,
  one: ReturnType<typeof scoredOf>,
): Promise<Scores> {
  const scores: Record<string, number | null> = {};
  if (typeof score === "function") {
    for (const [name, value] of Object.entries(await score(one))) scores[name] = numberOf(value);
    return scores;
  }
  for (const [name, scorer] of Object.entries(score))
    scores[name] =
      typeof scorer === "function"
        ? numberOf(await scorer(one))
        : (verdicts.get(verdictKey(one.runId, one.variant, name))?.score ?? null);
  return scores;
}

function caseOf(
  { recorded }: Found,
  { runId, variant, forkId, end, said, reason, paid, reused }: Tried,
  {
    scores,
    primary = "",
  }: { readonly scores: ReadonlyMap<string, Scores>; readonly primary: string | undefined },
): CaseReport {
  const before = scores.get(placeOf(runId, recordName)) ?? {};
  const after = scores.get(placeOf(runId, variant)) ?? {};
  const change = changeOf({ before, after }, primary);
  const { label = null, said: old, given } = recorded.get(runId) as Recorded;
  return {
    runId,
    forkId,
    label,
    scored: given,
    variant,
    verdict: end !== "said" ? end : change < 0 ? "worse" : change > 0 ? "better" : "same",
    before,
    after,
    beforeText: wordsOf(old),
    afterText: wordsOf(said),
    reason,
    paid,
    reused,
  };
}

/** How much better a score is than before. A pair is compared by its judge, so it has none before: a half is a draw. */
function changeOf({ before, after }: Pick<CaseReport, "before" | "after">, score: string): number {
  const is = after[score] ?? null;
  return is === null ? 0 : is - (before[score] ?? 0.5);
}

/** What was said, for people. */
function wordsOf({ text, output }: Said): string {
  if (typeof output === "string") return output;
  return text === "" && output !== undefined ? JSON.stringify(plain(output)) : text;
}

interface Grouped {
  readonly id: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly scores: ReadonlyMap<string, Scores>;
  readonly rows: readonly CaseReport[];
  readonly runIds: readonly string[];
  readonly tried: readonly Tried[];
}

function variantOf({ name, names, scores, rows, runIds, tried }: Grouped): VariantReport {
  const of = (variant: string, score: string): (number | null)[] =>
    runIds.map((runId) => scores.get(placeOf(runId, variant))?.[score] ?? null);
  const reports = names.flatMap((score): [string, ScoreReport][] => {
    const [before, after] = [of(recordName, score), of(name, score)];
    const all = estimate(after.filter(isNumber), `${score} ${name}`);
    if (all === null) return [];
    const changes = after.flatMap((value, i) =>
      isNumber(value) && isNumber(before[i]) ? [value - before[i]] : [],
    );
    return [
      [score, { ...all, change: name === recordName ? null : estimate(changes, `${score} ${name} change`) }],
    ];
  });
  const own = rows.filter(({ variant }) => variant === name);
  const count = (verdict: CaseReport["verdict"]): number =>
    own.filter((row) => row.verdict === verdict).length;
  const forks = tried.filter(({ variant }) => variant === name);
  return {
    name,
    n: name === recordName ? runIds.length : forks.filter(({ end }) => end === "said").length,
    scores: Object.fromEntries(reports),
    better: count("better"),
    worse: count("worse"),
    same: count("same"),
    stopped: count("stopped"),
    failed: count("failed"),
    skipped: count("skipped"),
    paid: sumOf(forks.map(({ paid }) => paid)),
    reused: sumOf(forks.map(({ reused }) => reused)),
    answered: forks.reduce((sum, { answered }) => sum + answered, 0),
    time: timesOf(name === recordName ? recordedTimes(tried) : forks.flatMap((one) => timeOf(one, "after"))),
  };
}

/** Of a fork that has no answer, the time says nothing. */
function timeOf({ end, took }: Tried, when: keyof Took): number[] {
  const ms = end === "said" ? took[when] : null;
  return ms === null ? [] : [ms];
}

/** Each run once, in whichever variant it has an answer. */
function recordedTimes(tried: readonly Tried[]): number[] {
  const byRun = new Map(tried.flatMap((one) => timeOf(one, "before").map((ms) => [one.runId, ms])));
  return [...byRun.values()];
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function checksOf(
  { thresholds = {} }: EvalOptions,
  variants: readonly VariantReport[],
  rows: readonly CaseReport[],
): Check[] {
  return Object.entries(thresholds).flatMap(([score, { min, drop, worse }]) =>
    variants.flatMap(({ name, scores, failed }): Check[] => {
      if (name === recordName) return [];
      const { n = 0, mean = null, change = null } = scores[score] ?? {};
      const [is, fell] = [mean ?? -Infinity, -(change?.mean ?? -Infinity)];
      const own = rows.filter(({ variant }) => variant === name);
      const lost = own.filter((row) => changeOf(row, score) < 0).length;
      const also = failed === 0 ? "" : `, and ${failed} failed`;
      return [
        min === undefined
          ? []
          : { text: `${name}: ${score} is at least ${min} (it is ${shown(mean)})`, passed: is >= min },
        drop === undefined
          ? []
          : {
              text: `${name}: ${score} drops by at most ${drop} (it changes by ${shown(change?.mean)})`,
              passed: fell <= drop,
            },
        worse === undefined
          ? []
          : {
              // Without any answer nothing is known to be as good as before.
              text: `${name}: at most ${worse} runs get worse (${n === 0 ? "no run has an answer" : `${lost} do`}${also})`,
              passed: n > 0 && lost + failed <= worse,
            },
      ].flat();
    }),
  );
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? "unknown" : String(Math.round(value * 1_000) / 1_000);
}
