/**
 * The orchestrator, itself a workflow: it plans, tries every approach of the plan in a fork, and chooses the
 * best. If none passes, it goes back to the plan with the failures.
 *
 * O1. Forks are made inside steps, under ids derived from the step's idempotency key, so that a step that
 *     runs again after a crash finds its fork with everything recorded there.
 * O2. One plan, one model call: candidates are forks `after` the plan, and never make it again.
 * O3. Going back is also a fork, `from` the plan. Earlier candidates remain for inspection.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  durable,
  DurableError,
  FatalError,
  fork,
  type Run,
  type StepInfo,
  type Workflow,
} from "@durable/core";
import { labelOf, type Branch } from "./candidate.ts";
import type { Approach, Brief } from "./plan.ts";
import type { Report } from "./sandbox.ts";

export interface AgentParts {
  readonly candidate: Workflow<Brief, Branch>;
  /** Where the winner's code is written. */
  readonly folder: string;
}

/** The result of one candidate. */
export interface Verdict extends Report {
  readonly runId: string;
  readonly label: string;
  readonly code: string;
}

export interface Ending {
  /** The run of the first plan, from which all others were forked. */
  readonly root: string;
  /** The best candidate, which may not pass. */
  readonly winner: Verdict;
  readonly passes: boolean;
  readonly rounds: number;
  readonly file: string;
}

const maxRounds = 3;

export function createAgent({ candidate, folder }: AgentParts): Workflow<string, Ending> {
  return durable("coding-agent", async (ctx, task: string) => {
    const tried: Verdict[] = [];
    const plans: Planned[] = [];
    do {
      const round = plans.length + 1;
      const lessons = tried.map(({ label, failures }) => ({ approach: label, failures }));
      const brief: Brief = { task, round, lessons, approach: null };
      const planned = await ctx.step("plan", (info) => planFor(candidate, brief, plans.at(-1), info));
      plans.push(planned);
      const { runId, approaches } = planned;
      const verdicts = await ctx.map(
        approaches,
        (c, approach) => c.step("fork", (info) => tryOut(candidate.get(runId), { ...brief, approach }, info)),
        { name: "try", key: ({ name }) => name, concurrency: 2 },
      );
      tried.push(...verdicts);
    } while (!tried.some(passes) && plans.length < maxRounds);
    const winner = bestOf(tried);
    const file = await ctx.step("deliver", () => deliver(folder, winner));
    return { root: plans[0]?.runId ?? "", winner, passes: passes(winner), rounds: plans.length, file };
  });
}

interface Planned {
  readonly runId: string;
  readonly approaches: readonly Approach[];
}

/** The first plan is a run of its own; each further one is a fork of it from its beginning. */
async function planFor(
  candidate: Workflow<Brief, Branch>,
  brief: Brief,
  before: Planned | undefined,
  { idempotencyKey }: StepInfo,
): Promise<Planned> {
  const id = `plan-${idempotencyKey}`;
  const run =
    before === undefined
      ? await candidate.start(brief, { id })
      : await fork(candidate.get(before.runId), { from: "plan", input: brief, label: labelOf(brief), id });
  try {
    return { runId: id, approaches: (await run.result()).plan.approaches };
  } catch (error) {
    // The run has used up its attempts, so running it again would change nothing.
    throw isLost(error) ? new FatalError(error.message) : error;
  }
}

async function tryOut(
  planned: Run<Branch, Brief>,
  brief: Brief,
  { idempotencyKey }: StepInfo,
): Promise<Verdict> {
  const [id, label] = [`try-${idempotencyKey}`, labelOf(brief)];
  const run = await fork(planned, { after: "plan", input: brief, label, id });
  const about = { runId: id, label };
  try {
    const { tried } = await run.result();
    if (tried === null) throw new Error(`Run ${id} tried nothing.`);
    return { ...about, code: tried.code, ...tried.report };
  } catch (error) {
    // A candidate that failed for good has lost; any other error is retried.
    if (!isLost(error)) throw error;
    const failures = [{ name: "no code", what: error.message }];
    return { ...about, code: "", passed: 0, total: 0, failures, stopped: "error" };
  }
}

/** True for a branch that failed for good. */
function isLost(error: unknown): error is DurableError {
  return DurableError.is(error, "run-failed") || DurableError.is(error, "step-failed");
}

export function passes({ passed, total }: Report): boolean {
  return total > 0 && passed === total;
}

/** The one that passes most tests, then the shortest, then the first. */
export function bestOf(tried: readonly Verdict[]): Verdict {
  const [best] = tried.toSorted((a, b) => b.passed - a.passed || a.code.length - b.code.length);
  if (best === undefined) throw new Error("no candidate was tried");
  return best;
}

async function deliver(folder: string, { code }: Verdict): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "pages.mjs");
  await writeFile(file, code);
  return file;
}
