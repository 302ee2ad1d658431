/**
 * The commands: `apply` starts a loan, `review` answers a wait, `fork` goes back. Each is a process of its
 * own.
 */

import {
  createApp,
  DurableError,
  fork,
  type App,
  type ForkOptions,
  type Outcome,
  type ResumeStatus,
  type Run,
  type SuspendPoint,
  type Workflow,
} from "@durable/core";
import { diff, lineage, type Prices } from "@durable/core/inspect";
import {
  chooseModel,
  closingLine,
  entriesOf,
  exitCodeOf,
  forget,
  paceOf,
  type RunPrinter,
  watching,
  type Environment,
  type Terminal,
} from "example-llm";
import { commandFor, printerOf, showFacts, showHeading, stateOf } from "example-llm/show-run";
import { describe, money } from "./describe.ts";
import { createLoan, policies, type Application, type Case, type Decision } from "./loan.ts";
import { answerOf, type Said } from "./reviews.ts";
import { script } from "./script.ts";
import * as show from "./show.ts";

const application: Application = { applicant: "applicant 4711", property: "14 Mill Lane", amount: 248_000 };

/** The two forks of the demo, each made once. */
export const forks = {
  decision: { from: "decide", input: { application, policy: policies.cautious }, label: "cautious policy" },
  credit: { from: "parallel[credit]/review", label: "credit reviewed again" },
} as const satisfies Record<string, ForkOptions<Case>>;

/** The default run id. */
export const usualId = "loan";

/** Steps that call the model. */
const asking = /(?:^|\/)(?:assess|value|decide)$/;

export class Desk {
  readonly loan: Workflow<Case, Decision>;
  /** The same without output, for plans, which replay the code. */
  readonly #quiet: Workflow<Case, Decision>;
  readonly #app: App;
  readonly #out: Terminal;
  readonly #printer: RunPrinter;
  readonly #model: string;
  readonly #prices: { readonly input: number; readonly output: number };
  /** Keys of the steps that called the model here, in order. */
  readonly #asked: string[] = [];

  static async open(out: Terminal, env: Environment): Promise<Desk> {
    const { model, line } = await chooseModel(env, { script, pace: paceOf(env["DEMO_PACE"]) });
    return new Desk(out, env, { model, line });
  }

  private constructor(
    out: Terminal,
    env: Environment,
    { model, line }: Awaited<ReturnType<typeof chooseModel>>,
  ) {
    this.#out = out;
    this.#model = line;
    this.#prices = pricesOf(env);
    const asked = { began: ({ key }: { key: string }) => void (asking.test(key) && this.#asked.push(key)) };
    this.#printer = printerOf(out, {
      describe,
      width: show.keyWidth,
      watchers: [asked],
    });
    this.#quiet = createLoan(model);
    this.loan = watching(this.#quiet, (ctx) => this.#printer.watch(ctx));
    this.#app = createApp({ workflows: [this.loan] });
  }

  /** Starts or continues the loan. */
  async apply({ id, fresh }: { readonly id: string; readonly fresh: boolean }): Promise<number> {
    if (fresh) await this.forget(id);
    const run = this.loan.get(id);
    const before = await entriesOf(run);
    const { applicant, property, amount } = application;
    this.#out.line();
    showFacts(this.#out, {
      application: `${applicant}, ${property}, ${money(amount)}`,
      model: this.#model,
      run: `${id} (${stateOf(before)})`,
    });
    this.#out.line();
    this.#printer.known(before);
    this.#printer.head();
    const outcome = await this.loan.run({ application, policy: policies.standard }, { id });
    if (outcome.recorded) this.#printer.recorded();
    return this.#close(outcome);
  }

  /** Shows the open reviews. */
  async reviews(): Promise<number> {
    const open = await this.#open();
    for (const { runId, point } of open) show.showReview(this.#out, runId, point);
    this.#out.line(
      open.length === 0
        ? `No review is open. Start with: ${commandFor(show.example, "apply")}`
        : `${open.length} open`,
    );
    return 0;
  }

  /** Answers one review, and continues its run. */
  async review(token: string, said: Said): Promise<number> {
    const answer = answerOf(said);
    const found = (await this.#open()).find(({ point }) => point.token === token);
    if (found !== undefined) {
      this.#printer.known(await this.loan.get(found.runId).entries());
      this.#out.line();
      this.#printer.head();
    }
    const { status, outcome, issues } = await this.loan.resume(token, answer);
    this.#out.line();
    this.#out.line(`${this.#out.paint("bold", status)}: ${issues ?? answered[status]}`);
    if (outcome === undefined || status === "invalid") return 1;
    await this.#close(outcome);
    await this.#compare(this.loan.get(outcome.runId));
    return status === "accepted" ? 0 : 1;
  }

  /** Shows what a fork would do, makes it, and shows what it did. */
  async fork(which: string | undefined, id: string): Promise<number> {
    if (which !== "decision" && which !== "credit")
      throw new RangeError(`Say which fork: ${commandFor(show.example, "fork", "decision")}, or credit.`);
    const parent = this.loan.get(id);
    const options = { ...forks[which], id: `${id}-${which}` };
    const prices = await this.#pricesFor(parent);
    showHeading(this.#out, `Plan: what a fork from "${options.from}" would do`);
    show.showPlan(this.#out, await this.#quiet.get(id).plan({ ...options, prices }), this.#prices);

    const before = await entriesOf(this.loan.get(options.id));
    this.#printer.known(before.length === 0 ? await parent.entries() : before);
    showHeading(this.#out, `Fork ${options.id} (${stateOf(before)}): what it does`);
    this.#printer.head();
    const run = await fork(parent, options);
    const recorded = stateOf(before) === "finished";
    const outcome = { ...(await stopped(run)), recorded };
    if (recorded) this.#printer.recorded();
    const code = await this.#close(outcome);
    await this.#compare(run);
    return code;
  }

  /** Deletes a loan and its forks. */
  async forget(id: string): Promise<void> {
    for (const one of [`${id}-decision`, `${id}-credit`, id]) await forget(this.#app, one);
  }

  /** The last lines about a run that has stopped: its decision, or the open reviews. */
  async #close(outcome: Outcome<Decision>): Promise<number> {
    if (outcome.status === "completed") show.showDecision(this.#out, outcome.output);
    if (outcome.status === "suspended") {
      this.#out.line();
      for (const point of outcome.waiting) show.showReview(this.#out, outcome.runId, point);
    }
    this.#out.line();
    const { settled } = this.#printer;
    const id = outcome.runId.replace(/-(?:decision|credit)$/, "");
    const named = id === usualId ? [] : ["--id", id];
    const again = commandFor(show.example, "apply", ...named);
    const fresh = commandFor(show.example, "apply", ...named, "--fresh");
    this.#out.line(closingLine(outcome, { settled, again, fresh }));
    const upstream = this.#asked.filter((key) => key !== "decide").length;
    this.#out.line(
      `Model calls here: ${upstream} upstream, ${this.#asked.length - upstream} for the decision.`,
    );
    return exitCodeOf(outcome);
  }

  /** The open reviews of all runs. */
  async #open(): Promise<{ runId: string; point: SuspendPoint }[]> {
    const { runs } = await this.loan.list({ status: "suspended" });
    const outcomes = await Promise.all(runs.map(({ runId }) => this.loan.get(runId).outcome()));
    return outcomes.flatMap((outcome) =>
      outcome.status === "suspended" ? outcome.waiting.map((point) => ({ runId: outcome.runId, point })) : [],
    );
  }

  /** Compares a fork that has ended with its parent. */
  async #compare(run: Run<Decision, Case>): Promise<void> {
    const entries = await run.entries();
    const parent = lineage(entries)?.parent ?? null;
    if (parent === null || !entries.some(({ kind }) => kind === "run.completed")) return;
    showHeading(this.#out, `Diff: ${parent} and its fork ${run.id}`);
    show.showDiff(this.#out, diff(await this.loan.get(parent).entries(), entries));
  }

  /** One price for all models that the run has used. */
  async #pricesFor(run: Run<Decision, Case>): Promise<Prices> {
    const models = (await run.entries()).flatMap((entry) => ("usage" in entry ? (entry.usage ?? []) : []));
    return Object.fromEntries(models.map(({ model }) => [model, this.#prices]));
  }
}

const answered: Readonly<Record<ResumeStatus, string>> = {
  unknown: "no review has this token",
  invalid: "the review stays open",
  accepted: "the answer is recorded",
  duplicate: "it was answered before; nothing changed",
  expired: "the review is closed; nothing changed",
};

/** Dollars per million tokens. */
function pricesOf(env: Environment): { input: number; output: number } {
  const price = (name: string, usual: number): number => {
    const value = Number(env[name] || usual);
    if (Number.isFinite(value) && value >= 0) return value;
    throw new RangeError(`${name} is "${env[name]}". Use dollars for a million tokens: ${name}=${usual}.`);
  };
  return { input: price("LLM_PRICE_INPUT", 1), output: price("LLM_PRICE_OUTPUT", 4) };
}

/** The outcome at which a fork stops: its end, or a review. */
async function stopped(run: Run<Decision, Case>): Promise<Outcome<Decision>> {
  await run.result().catch((error: unknown) => {
    if (!DurableError.is(error)) throw error;
  });
  return run.outcome();
}
