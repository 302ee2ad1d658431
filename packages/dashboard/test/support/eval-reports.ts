/** An app with a report of an eval, as @durable/evals keeps it: 40 conversations, 31 better, 3 worse, and a second variant. */

import { type App, createApp, durable, MemoryStorage } from "@durable/core";
import { runEval } from "@durable/core/storage";
import { secret } from "./journals.ts";

type Verdict = "worse" | "better" | "same" | "stopped";

const answer = durable("support", async (ctx, question: string) =>
  ctx.step("answer", () => `An answer about ${question}`),
);
const amount = (calls: number, cost: number) => ({
  calls,
  inputTokens: calls * 900,
  outputTokens: calls * 80,
  cost,
});
const estimate = (mean: number, about: number, n = 40) => ({
  n,
  mean,
  low: mean - about,
  high: mean + about,
});

const texts: Readonly<Record<Verdict, readonly [string, string]>> = {
  worse: [
    "Express is late after three working days. Yours took two, so the fee stays. I am sorry for the wait.",
    "Express is late after three working days. So the fee of 14.90 EUR is on its way back. I am sorry for the wait.",
  ],
  better: [
    "I see one charge of 79 EUR. The second may be a reservation.",
    "I see two charges of 79 EUR. One was a mistake; we pay it back (policy 4.2).",
  ],
  same: ["Your parcel arrives on Friday.", "Your parcel arrives on Friday."],
  stopped: ["Please hold the button.", ""],
};

function verdictOf(n: number, variant: string): Verdict {
  if (variant === "small model") return n < 9 ? "worse" : n < 20 ? "better" : n < 22 ? "stopped" : "same";
  return n < 3 ? "worse" : n < 34 ? "better" : "same";
}

function caseOf(n: number, variant: string) {
  const verdict = verdictOf(n, variant);
  const [beforeText, afterText] = texts[verdict];
  return {
    runId: `support-${n}`,
    forkId: `eval-fork-${variant.length}-${n}`,
    label: n % 4 === 0 ? `“Do I get the fee of order ${n} back?” <b>` : null,
    scored: n === 0 ? [{ name: "helpful", value: 0, note: "it promises too much" }] : [],
    variant,
    verdict,
    before: { refund: verdict === "worse" ? 1 : 0, kind: 1 },
    after:
      verdict === "stopped"
        ? { refund: null, kind: null }
        : { refund: verdict === "better" ? 1 : 0, kind: 0.5 },
    beforeText,
    afterText,
    reason: verdict === "stopped" ? 'stops at step "pay call-2": the record has no outcome of it' : null,
    paid: amount(1, variant === "small model" ? 0.005 : 0.03),
    reused: amount(2, 0.0525),
  };
}

const none = { better: 0, worse: 0, same: 0, stopped: 0, failed: 0, skipped: 0, answered: 0 };
const nothing = amount(0, 0);

/** The data of a report. */
export const report = {
  name: "state the policy",
  id: "eval-1",
  runs: 40,
  scores: ["refund", "kind"],
  variants: [
    {
      ...none,
      name: "record",
      n: 40,
      scores: {
        refund: { ...estimate(0.15, 0.11), change: null },
        kind: { ...estimate(0.954, 0.03), change: null },
      },
      paid: nothing,
      reused: nothing,
      time: { median: 6_200, p95: 22_400 },
    },
    {
      ...none,
      name: "policy stated",
      n: 40,
      better: 31,
      worse: 3,
      same: 6,
      scores: {
        refund: { ...estimate(0.85, 0.12), change: estimate(0.7, 0.17) },
        kind: { ...estimate(0.929, 0.04), change: estimate(-0.025, 0.028) },
      },
      paid: amount(40, 1.2),
      reused: amount(80, 2.1),
      time: { median: 5_800, p95: 75_000 },
    },
    {
      ...none,
      name: "small model",
      n: 38,
      better: 11,
      worse: 9,
      same: 18,
      stopped: 2,
      scores: {
        refund: { ...estimate(0.2, 0.13, 38), change: estimate(0.05, 0.19) },
        kind: { ...estimate(0.9, 0.05, 38), change: estimate(-0.054, 0.03) },
      },
      paid: amount(40, 0.2),
      reused: amount(80, 2.1),
      time: { median: 940, p95: 6_900 },
    },
  ],
  cases: ["policy stated", "small model"]
    .flatMap((variant) => Array.from({ length: 40 }, (_, n) => caseOf(n, variant)))
    .toSorted((a, b) => rank(a.verdict) - rank(b.verdict)),
  paid: amount(154, 1.62),
  judges: amount(74, 0.22),
  reused: amount(160, 4.2),
  providerTools: ["web_search"],
  checks: [
    { text: "policy stated: refund is at least 0.8 (it is 0.85)", passed: true },
    { text: "policy stated: at most 0 runs get worse (3 do)", passed: false },
  ],
  passed: false,
};

function rank(verdict: Verdict): number {
  return ["worse", "stopped", "better", "same"].indexOf(verdict);
}

const kept = durable("eval-report", (ctx, { runs, passed, paid }: typeof report) => {
  ctx.report({ runs, passed, paid: paid.cost, best: { name: "policy stated", change: 0.7, worse: 3 } });
  return Promise.resolve();
});

/** Puts a report beside the runs of an app. */
export async function keepReport(app: App, data: object = report, id = "eval-report-1"): Promise<void> {
  await runEval(app, kept.definition, data, { id, eval: "state the policy" });
}

export async function evaluated(): Promise<App> {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [answer], bind: false });
  for (let n = 0; n < 40; n++) await app.run("support", `order ${n}`, { id: `support-${n}` });
  await keepReport(app);
  return app;
}
