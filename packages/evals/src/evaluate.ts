/**
 * Asks the models of recorded runs again, with something changed, and scores what they say.
 *
 * evaluate.1. An eval is a workflow: each fork, and each verdict of a judge, is a step. Killed at any moment, it is continued by the
 *     same call, and only what was in flight is asked again.
 * evaluate.2. Its run, its forks and its verdicts are named by what they depend on. So an eval that is repeated pays nothing, and one
 *     with another variant pays for that alone.
 * evaluate.3. Scores of functions are computed at each call, because a function may have changed.
 * evaluate.4. A report is kept as a run, too, so that the dashboard shows it. One that says the same is recorded once.
 */

import { exampleIn, exampleScore, scoresIn, type Example, type ScoreView } from "@durable/core/inspect";
import { durable, DurableError, type App, type Context } from "@durable/core";
import { codeFor, evalId, forkForEval, originalOf, runEval, type EvalOriginal } from "@durable/core/storage";
import { judged, type Verdict } from "./judge.ts";
import { measured, tookOf, type Amount, type Said } from "./measure.ts";
import {
  checked,
  identityOf,
  judgesOf,
  recordName,
  type Case,
  type EvalOptions,
  type Variant,
} from "./options.ts";
import { summaryOf } from "./best.ts";
import { reportOf, type GivenScore, type Report, type ReportData } from "./report.ts";
import { casesOf } from "./runs.ts";
import { scoredOf, verdictKey, type Recorded, type Tried } from "./tried.ts";

/** One fork to be made. */
interface Trial {
  readonly runId: string;
  readonly chapter: number;
  readonly variant: string;
  readonly forkId: string;
}

/**
 * Forks recorded runs, asks their models again with each variant, and reports what got better and worse. Nothing else runs in a
 * fork: no tool, step, message or child. Call it again after a crash, or to read the report again: what was paid is not paid twice.
 * @example const report = await evaluate(app, { name: "calm", runs: { workflow: "support", limit: 200 }, variants: [{ name: "calm", prompt }], score: { exact: exact() } });
 */
export async function evaluate(app: App, given: EvalOptions): Promise<Report> {
  const options = checked(given);
  const listed = await casesOf(app, options.runs);
  if (listed.length === 0)
    throw new DurableError("invalid-options", `Eval "${options.name}" found no run. Check \`runs\`.`);
  const originals = await Promise.all(listed.map(({ runId }) => originalOf(app, runId)));
  const scores = originals.map(({ entries }) => scoresIn(entries));
  const cases = listed.map((one, i) => withExample(one, exampleIn(scores[i] ?? [])));
  const trials = await Promise.all(
    originals.flatMap((original) =>
      options.variants.map((variant) => trialOf(app, options, { original, variant })),
    ),
  );
  const judges = judgesOf(options).map(([name, { kind, model, criteria }]) => [
    name,
    kind,
    model.modelId,
    criteria,
  ]);
  const input = {
    trials,
    judges,
    expected: cases.map(({ expected = null }) => expected),
    budget: options.budget ?? null,
  };
  const id = await evalId(app, "eval", input);
  const recorded = new Map(
    originals.map((original, i): [string, Recorded] => [
      original.runId,
      {
        ...(cases[i] as Case),
        input: original.input,
        said: measured(original.entries).said,
        given: (scores[i] ?? []).flatMap(givenIn),
      },
    ]),
  );
  const flow = durable("eval", (ctx, { trials: all }: typeof input) =>
    tryAll(ctx, { app, options, recorded }, all),
  );
  const made = { id, eval: options.name, signal: options.signal };
  const outcome = await runEval(app, flow.definition, input, made);
  if (outcome.status !== "completed") {
    const cause = "error" in outcome ? outcome.error : undefined;
    throw new DurableError(
      "conflict",
      `Eval "${options.name}" is ${outcome.status} (run ${id})${cause === undefined ? "" : `: ${cause.message}`} Mend that and call evaluate again: what was paid is not paid twice.`,
      { cause },
    );
  }
  const { tried, verdicts } = outcome.output as Awaited<ReturnType<typeof tryAll>>;
  const report = await reportOf({ id, options, cases, recorded, tried, verdicts: new Map(verdicts) });
  await keep(app, report);
  return report;
}

const reports = durable("eval-report", (ctx: Context, report: ReportData) => {
  ctx.report(summaryOf(report));
  return Promise.resolve();
});

/** Records what the report says. */
async function keep(app: App, report: Report): Promise<void> {
  const data: ReportData = { ...report };
  const id = await evalId(app, "eval-report", data);
  await runEval(app, reports.definition, data, { id, eval: report.name });
}

/** A score as a report has it; none for the mark of an example. */
function givenIn({ name, value, note }: ScoreView): GivenScore[] {
  return name === exampleScore ? [] : [{ name, value, ...(note !== undefined && { note }) }];
}

/** What is known of a run that was kept as an example, where the list of runs does not say it. */
function withExample(one: Case, example: Example | null): Case {
  if (example === null) return one;
  const { label = example.label ?? undefined, expected = example.expected } = one;
  return { ...one, label, ...(expected !== undefined && { expected }) };
}

async function trialOf(
  app: App,
  options: EvalOptions,
  { original, variant }: { readonly original: EvalOriginal; readonly variant: Variant },
): Promise<Trial> {
  const { runId, seq, nonce, workflow, chapter } = original;
  const identity = identityOf(options, variant, workflow);
  const forkId = await evalId(app, "eval", [runId, seq, nonce, identity]);
  return { runId, chapter, variant: variant.name, forkId };
}

interface Trying {
  readonly app: App;
  readonly options: EvalOptions;
  readonly recorded: ReadonlyMap<string, Recorded>;
}

async function tryAll(ctx: Context, trying: Trying, trials: readonly Trial[]) {
  const { options, recorded } = trying;
  const { concurrency = 4, budget } = options;
  let spent = 0;
  const tried = await ctx.map(
    trials,
    async (c, trial) => {
      if (budget !== undefined && spent >= budget)
        return without(trial, "skipped", spent === Infinity ? unpriced : "the budget of the eval was spent");
      const one = await c.step("fork", ({ signal }) => tryOne(trying, trial, signal), {
        retry: { attempts: 2 },
      });
      // What has no price cannot be counted.
      spent += one.paid.cost ?? Infinity;
      return one;
    },
    { name: "forks", key: ({ forkId }) => forkId, concurrency },
  );
  const scored = [
    ...[...recorded.values()].map(({ runId, said }) => ({ runId, variant: recordName, said })),
    ...tried.filter(({ end }) => end === "said"),
  ];
  const asked = judgesOf(options).flatMap(([score, by]) =>
    scored
      .filter(({ variant }) => by.kind === "judge" || variant !== recordName)
      .map((one) => ({ score, by, one })),
  );
  const verdicts = await ctx.map(
    asked,
    (c, { score, by, one }) =>
      c.step("judge", async ({ signal }): Promise<[string, Verdict]> => {
        const about = scoredOf(recorded.get(one.runId) as Recorded, one);
        const verdict = await judged(trying.app, { eval: options.name, judge: by, one: about, signal });
        return [verdictKey(one.runId, one.variant, score), verdict];
      }),
    { name: "verdicts", concurrency },
  );
  return { tried, verdicts };
}

const nothing: Amount = { calls: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
const silence: Said = { output: null, text: "" };

const unpriced =
  "the eval has a budget, and the price of what its model used is not known: add it to createApp({ prices })";

/** A run without a fork. */
function without({ runId, variant, forkId }: Trial, end: Tried["end"], reason: string): Tried {
  const took = { before: null, after: null };
  const none = { said: silence, paid: nothing, reused: nothing, answered: 0, providerTools: [], took };
  return { runId, variant, forkId, end, reason, ...none };
}

async function tryOne({ app, options }: Trying, trial: Trial, signal: AbortSignal): Promise<Tried> {
  const { name, from = { turn: -1 }, tools = "recorded" } = options;
  const { runId, chapter, forkId } = trial;
  const variant = options.variants.find((one) => one.name === trial.variant) as Variant;
  const { model, prompt, edit, app: other } = variant;
  const made = {
    id: forkId,
    eval: name,
    label: `eval ${name}: ${variant.name}`.slice(0, 120),
    chapter,
    from,
    edit,
    variant: { model, prompt },
    stubs: typeof tools === "string" ? {} : tools,
    refuse: tools === "refuse",
    signal,
  };
  try {
    const { workflow, entries: recorded } = await originalOf(app, runId, chapter);
    const code = other === undefined ? null : codeFor(other, workflow);
    if (other !== undefined && code === null)
      throw new DurableError(
        "unknown-workflow",
        `The app of variant "${variant.name}" has no workflow "${workflow}", to which run ${runId} belongs.`,
      );
    const { outcome, entries } = await forkForEval(app, runId, made, code);
    const took = tookOf(recorded, entries);
    return { runId, variant: variant.name, forkId, ...endOf(outcome), ...measured(entries), took };
  } catch (error) {
    // It is gone meanwhile, or never came to this place. The other runs are asked all the same.
    if (DurableError.is(error, "not-found") || DurableError.is(error, "unknown-step"))
      return without(trial, "failed", error.message);
    throw error;
  }
}

function endOf(outcome: Awaited<ReturnType<typeof forkForEval>>["outcome"]): Pick<Tried, "end" | "reason"> {
  if (outcome.status === "completed") return { end: "said", reason: null };
  const error = "error" in outcome ? outcome.error : null;
  const reason = error === null ? `the fork is ${outcome.status}` : error.message;
  if (!DurableError.is(error, "off-the-record")) return { end: "failed", reason };
  // It has come as far as the original.
  return error.details["end"] === true ? { end: "said", reason: null } : { end: "stopped", reason };
}
