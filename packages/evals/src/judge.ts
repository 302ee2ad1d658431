/**
 * Scores by a model. Each question is a run of its own, named by what is asked, so it is paid for once, in whichever eval it comes
 * up.
 */

import { durable, FatalError, type App } from "@durable/core";
import { answerText, plain } from "@durable/core/inspect";
import { usageOfCounts } from "@durable/core/clients";
import { evalId, runEval } from "@durable/core/storage";
import { measured, type Amount } from "./measure.ts";
import type { Scored } from "./scorers.ts";

/** A model of the AI SDK, of which `doGenerate` is called. */
export interface JudgeModel {
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<object>;
}

/** A scorer that asks a model. */
export interface Judge {
  readonly kind: "judge" | "pairwise";
  readonly model: JudgeModel;
  readonly criteria: string;
}

/** Asks a model how well the answer meets the criteria: from 0 to 1. */
export function judge(options: { readonly model: JudgeModel; readonly criteria: string }): Judge {
  return { kind: "judge", ...options };
}

/**
 * Asks a model whether the new answer is better than the recorded one, twice, with the order swapped: 1 if it wins both times, 0 if
 * it loses both times, 0.5 otherwise.
 */
export function pairwise(options: { readonly model: JudgeModel; readonly criteria: string }): Judge {
  return { kind: "pairwise", ...options };
}

/** A verdict, and what it cost when it was made. */
export interface Verdict {
  /** The run of the question. Equal questions share it. */
  readonly runId: string;
  readonly score: number;
  readonly reason: string;
  readonly paid: Amount;
}

const instructions = {
  judge:
    'You judge an answer. Reply with JSON alone: {"score": a number from 0 (fails the criteria) to 1 (meets them), "reason": "one sentence"}.',
  pairwise:
    'You compare two answers, A and B. Reply with JSON alone: {"better": "A", "B" or "same", "reason": "one sentence"}.',
};

/** The questions of one score: one, or one for each order. */
function questionsOf({ kind, criteria }: Judge, { input, expected, before, after }: Scored): string[] {
  const given = { criteria, input, ...(expected === undefined ? {} : { expected }) };
  const text = (about: object): string => JSON.stringify(plain({ ...given, ...about }), null, 1);
  const [old, now] = [before, after].map(({ text: words, output }) => (words === "" ? output : words));
  if (kind === "judge") return [text({ answer: now })];
  return [text({ A: old, B: now }), text({ A: now, B: old })];
}

interface Question {
  readonly name: string;
  readonly question: string;
}

/** What a model answered to one question: 1 is the best, and B where two are compared. */
interface Answer {
  readonly score: number;
  readonly reason: string;
}

/** Asks, or reads what was answered before. */
export async function judged(
  app: App,
  asked: { readonly eval: string; readonly judge: Judge; readonly one: Scored; readonly signal: AbortSignal },
): Promise<Verdict> {
  const { judge: by, one, signal: ends } = asked;
  const { model } = by;
  const questions = questionsOf(by, one);
  const input: Question[] = questions.map((question, i) => ({ name: `ask ${i + 1}`, question }));
  const id = await evalId(app, "judge", [by.kind, model.provider, model.modelId, input]);
  const flow = durable("eval judge", async (ctx, given: readonly Question[]) => {
    const answers: Answer[] = [];
    for (const { name, question } of given)
      answers.push(
        await ctx.step(
          name,
          async ({ meter, signal }) => {
            const prompt = [
              { role: "system", content: instructions[by.kind] },
              { role: "user", content: [{ type: "text", text: question }] },
            ];
            const answer = await model.doGenerate({ prompt, abortSignal: signal, temperature: 0 } as never);
            meter(usageIn(model, answer));
            return answerIn(by.kind, answerText(answer), one.runId);
          },
          { model: true, label: "judge" },
        ),
      );
    return answers;
  });
  const outcome = await runEval(app, flow.definition, input, { id, eval: asked.eval, signal: ends });
  if (outcome.status !== "completed")
    throw new FatalError(
      `The judge of run ${one.runId} gave no answer (run ${id} is ${outcome.status}). Run the eval again.`,
      { cause: "error" in outcome ? outcome.error : undefined },
    );
  const [first, second] = outcome.output as Answer[];
  const score = second === undefined ? (first?.score ?? 0) : ((first?.score ?? 0) + 1 - second.score) / 2;
  return {
    runId: id,
    score: settled(by.kind, score),
    reason: first?.reason ?? "",
    paid: await paidBy(app, id),
  };
}

/** A pair that is won once and lost once, or half won, is a draw. */
function settled(kind: Judge["kind"], score: number): number {
  return kind === "judge" ? score : score === 1 || score === 0 ? score : 0.5;
}

async function paidBy(app: App, id: string): Promise<Amount> {
  const entries = await app.get(id).entries();
  const calls = entries.filter(({ kind }) => kind === "step.completed").length;
  return { ...measured(entries).paid, calls };
}

function usageIn({ modelId, provider }: JudgeModel, answer: object) {
  const { usage } = answer as { readonly usage?: Readonly<Record<string, unknown>> };
  const count = (name: string): unknown => {
    const field = usage?.[name];
    return typeof field === "object" && field !== null ? (field as { total?: unknown }).total : field;
  };
  return usageOfCounts(modelId, { input: count("inputTokens"), output: count("outputTokens") }, provider);
}

/** Within the step, so that an answer without a verdict is not recorded: it is asked again by the next eval. */
function answerIn(kind: Judge["kind"], text: string, runId: string): Answer {
  const found = /\{[^]*\}/.exec(text)?.[0];
  try {
    const { score, better, reason = "" } = JSON.parse(found ?? "") as Readonly<Record<string, unknown>>;
    const value = kind === "judge" ? Number(score) : { A: 0, B: 1, same: 0.5 }[String(better)];
    if (value !== undefined && value >= 0 && value <= 1) return { score: value, reason: String(reason) };
  } catch {
    // The message below says what came.
  }
  throw new FatalError(
    `The judge of run ${runId} answered ${JSON.stringify(text.slice(0, 200))}, which is not a verdict. Run the eval again to ask again, or use a model that keeps to JSON.`,
  );
}
