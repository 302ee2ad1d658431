/** The requests to the model: a plan of several approaches, and the code of one of them. */

import type { StepInfo } from "@durable/core";
import { generateText, Output, type LanguageModel } from "ai";
import { metered } from "example-llm";
import { z } from "zod";
import type { Failure } from "./sandbox.ts";

const approach = z.object({
  name: z.string().describe("one word, lower case"),
  idea: z.string().describe("two sentences: how it works, and what it takes care of"),
});

export type Approach = z.infer<typeof approach>;

export const plan = z.object({ approaches: z.array(approach) });

export type Plan = z.infer<typeof plan>;

/** The result of a candidate, for the next plan. */
export interface Lesson {
  readonly approach: string;
  readonly failures: readonly Failure[];
}

/** What one branch works on. Only `approach` differs between the candidates of one plan. */
export interface Brief {
  readonly task: string;
  readonly round: number;
  readonly lessons: readonly Lesson[];
  /** `null` for the branch that only plans. */
  readonly approach: Approach | null;
}

const instructions =
  "You write small, correct JavaScript modules without dependencies. They are run against tests you do not see.";
const mostApproaches = 3;

export async function makePlan(model: LanguageModel, brief: Brief, info: StepInfo): Promise<Plan> {
  const prompt = [
    "Plan two or three approaches to this task that differ in kind.",
    brief.task,
    ...(brief.lessons.length === 0 ? [] : ["What went wrong so far, by approach and test:"]),
    ...brief.lessons.map(lessonText),
  ].join("\n");
  const { output } = await metered(info, (settings) =>
    generateText({ model, instructions, prompt, output: Output.object({ schema: plan }), ...settings }),
  );
  return { approaches: tamed(output.approaches) };
}

function lessonText({ approach, failures }: Lesson): string {
  return `- ${approach}: ${failures.map(({ name, what }) => `${name} (${what})`).join("; ")}`;
}

/** Names become part of keys, so they are normalized; of two equal names the second is dropped. */
function tamed(approaches: readonly Approach[]): Approach[] {
  const named = approaches.slice(0, mostApproaches).map(({ name, idea }) => ({
    name:
      name
        .toLowerCase()
        .match(/[a-z0-9]+/g)
        ?.join("-")
        .slice(0, 12) ?? "unnamed",
    idea,
  }));
  if (named.length === 0) throw new Error("the model planned nothing");
  return named.filter(({ name }, index) => named.findIndex((one) => one.name === name) === index);
}

/** The code of one approach. */
export async function implement(
  model: LanguageModel,
  { task, approach }: Brief,
  info: StepInfo,
): Promise<string> {
  const prompt = [
    "Implement this task by the approach given. Answer with the module in one code block.",
    task,
    `Approach: ${approach?.name}: ${approach?.idea}`,
  ].join("\n");
  const { text } = await metered(info, (settings) =>
    generateText({ model, instructions, prompt, ...settings }),
  );
  return (/```\w*\n([^]*?)```/.exec(text)?.[1] ?? text).trimEnd() + "\n";
}
