/**
 * Reports of evals, as @durable/evals keeps them: runs of the workflow `eval-report`. Proven in test/evals.test.ts.
 *
 * evals.1. The list is read from heads. One report reads one journal.
 * evals.2. Nothing in a report is believed: a field of another type counts as missing, and texts have bounds.
 */

import { DurableError, type ListedRun } from "@durable/core";
import { type Call, json, readable } from "@durable/http/kit";
import type {
  EvalAmount,
  EvalCase,
  EvalEstimate,
  EvalItem,
  EvalList,
  EvalReport,
  EvalVariant,
} from "../api-evals.ts";
import type { Service } from "../options.ts";
import { numberIn } from "./request.ts";

const workflow = "eval-report";
const [mostCases, mostNames, mostText, mostLabel] = [2_000, 50, 20_000, 300] as const;

export async function evals(service: Service, { request, url }: Call): Promise<Response> {
  const limit = numberIn(url, "limit", { min: 1, max: 100, or: 50 });
  const cursor = url.searchParams.get("cursor");
  const { runs, next } = await service.app.list({ workflow, eval: true, limit, cursor });
  const heads = await readable(service, request, runs);
  return json(200, { reports: heads.map(itemOf), next } satisfies EvalList);
}

function itemOf({ runId, eval: name = "", createdAt: at, report }: ListedRun): EvalItem {
  const { runs, passed, paid, best } = objectIn(report);
  const { name: variant, change, worse } = objectIn(best);
  return {
    runId,
    name,
    at,
    runs: numberOf(runs),
    passed: passed === true,
    paid: costOf(paid),
    best:
      variant === undefined
        ? null
        : { name: textOf(variant), change: numberOf(change), worse: numberOf(worse) },
  };
}

export async function evalReport({ app }: Service, { runId }: Call): Promise<Response> {
  const [first] = await app.get(runId).entries();
  if (first?.kind !== "run.started" || first.workflow !== workflow || first.eval === undefined)
    throw new DurableError("not-found", `Run ${runId} is not a report of an eval.`);
  const report = objectIn(first.input);
  const cases = listIn(report["cases"]);
  const scores = listIn(report["scores"])
    .slice(0, mostNames)
    .map((name) => textOf(name));
  return json(200, {
    name: first.eval,
    at: first.at,
    id: textOf(report["id"]),
    runs: numberOf(report["runs"]),
    scores,
    variants: listIn(report["variants"])
      .slice(0, mostNames)
      .map((one) => variantOf(one, scores)),
    cases: cases.slice(0, mostCases).map((one) => caseOf(one, scores)),
    paid: amountOf(report["paid"]),
    judges: amountOf(report["judges"]),
    reused: amountOf(report["reused"]),
    providerTools: listIn(report["providerTools"])
      .slice(0, mostNames)
      .map((name) => textOf(name)),
    checks: listIn(report["checks"])
      .slice(0, mostNames)
      .map((one) => ({ text: textOf(objectIn(one)["text"]), passed: objectIn(one)["passed"] === true })),
    more: cases.length > mostCases,
  } satisfies EvalReport);
}

function variantOf(given: unknown, names: readonly string[]): EvalVariant {
  const { name, n, scores, better, worse, same, stopped, failed, skipped, ...more } = objectIn(given);
  const all = objectIn(scores);
  const [median, p95] = [objectIn(more["time"])["median"], objectIn(more["time"])["p95"]].map(costOf);
  return {
    name: textOf(name),
    n: numberOf(n),
    scores: Object.fromEntries(
      names.flatMap((score) => {
        const one = all[score];
        const change = estimateOf(objectIn(one)["change"]);
        return Object.hasOwn(all, score)
          ? [[score, { ...(estimateOf(one) ?? nothing), change }] as const]
          : [];
      }),
    ),
    better: numberOf(better),
    worse: numberOf(worse),
    same: numberOf(same),
    none: numberOf(stopped) + numberOf(failed) + numberOf(skipped),
    paid: amountOf(more["paid"]),
    reused: amountOf(more["reused"]),
    time: typeof median === "number" && typeof p95 === "number" ? { median, p95 } : null,
  };
}

const verdicts = ["worse", "stopped", "failed", "skipped", "better", "same"] as const;

function caseOf(given: unknown, names: readonly string[]): EvalCase {
  const one = objectIn(given);
  const scoresOf = (scores: unknown): EvalCase["before"] => {
    const all = objectIn(scores);
    return Object.fromEntries(names.map((name) => [name, costOf(all[name])]));
  };
  return {
    runId: textOf(one["runId"]),
    forkId: textOf(one["forkId"]),
    label: one["label"] === null ? null : textOf(one["label"]),
    variant: textOf(one["variant"]),
    verdict: verdicts.find((verdict) => verdict === one["verdict"]) ?? "same",
    scored: listIn(one["scored"])
      .slice(0, mostNames)
      .map(objectIn)
      .map(({ name, value, note }) => ({
        name: textOf(name),
        value: numberOf(value),
        note: textOf(note, mostText),
      })),
    before: scoresOf(one["before"]),
    after: scoresOf(one["after"]),
    beforeText: textOf(one["beforeText"], mostText),
    afterText: textOf(one["afterText"], mostText),
    reason: typeof one["reason"] === "string" ? textOf(one["reason"], mostText) : null,
    paid: amountOf(one["paid"]),
    reused: amountOf(one["reused"]),
  };
}

const nothing: EvalEstimate = { n: 0, mean: 0, low: 0, high: 0 };

function estimateOf(given: unknown): EvalEstimate | null {
  const { n, mean, low, high } = objectIn(given);
  if (mean === undefined) return null;
  return { n: numberOf(n), mean: numberOf(mean), low: numberOf(low), high: numberOf(high) };
}

function amountOf(given: unknown): EvalAmount {
  const { calls, inputTokens, outputTokens, cost } = objectIn(given);
  return {
    calls: numberOf(calls),
    tokens: numberOf(inputTokens) + numberOf(outputTokens),
    cost: costOf(cost),
  };
}

const objectIn = (value: unknown): Readonly<Record<string, unknown>> =>
  Object(value) as Readonly<Record<string, unknown>>;
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const textOf = (value: unknown, most: number = mostLabel): string =>
  typeof value === "string" ? value.slice(0, most) : "";
const costOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;
const numberOf = (value: unknown): number => costOf(value) ?? 0;
