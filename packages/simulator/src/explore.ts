/**
 * A user's workflow in the simulator: random schedules, several workers, crashes and a failing storage, seed
 * by seed. Stops at the first broken invariant and shows the shortest history that breaks it.
 */

import type { Context, LimitOptions, Workflow } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Answers } from "@durable/testing";
import { AnswerBook, Bodies, ownOptions } from "@durable/testing/parts";
import { tally } from "./coverage.ts";
import type { Plan } from "./plan.ts";
import { planOf } from "./random-plan.ts";
import { nameOf, type Program } from "./program.ts";
import { shrink } from "./shrink.ts";
import { simulate, type Simulation } from "./simulate.ts";
import { describeViolations, eventTable } from "./report.ts";

/** Options of `explore`, besides the input. */
export interface ExploreSettings<Output> {
  /** How many seeds; 200 by default. */
  readonly seeds?: number | undefined;
  /** The first seed; 1 by default. */
  readonly from?: number | undefined;
  /** Answers to suspend points, by name. */
  readonly resume?: Answers | undefined;
  /** Called with the output of every run that completes; throws when the output is wrong. */
  readonly expect?: ((output: Output) => void) | undefined;
  /** Limits of the app in every process, for steps with `{ limit }`. */
  readonly limits?: Readonly<Record<string, LimitOptions>> | undefined;
  /** How long virtual time waits for the work of a step, in real milliseconds; 1,000 by default. */
  readonly bodyMs?: number | undefined;
  /** Called after each seed: for a progress line. */
  readonly progress?: ((seeds: number) => void) | undefined;
}

/** Options of `explore`. The input may be left out where the workflow takes none. */
export type ExploreOptions<Input, Output> = ExploreSettings<Output> &
  (undefined extends Input ? { readonly input?: Input } : { readonly input: Input });

export type ExploreArguments<Input, Output> = undefined extends Input
  ? [options?: ExploreOptions<Input, Output>]
  : [options: ExploreOptions<Input, Output>];

/** What `explore` did. */
export interface Exploration {
  readonly seeds: number;
  readonly runs: number;
  readonly bodies: number;
  readonly faults: number;
  readonly events: number;
  /** Which situations occurred, and how often. */
  readonly met: ReadonlyMap<string, number>;
}

/**
 * Simulates a workflow with several workers, random schedules and many faults, once for every seed. Rejects
 * with the shortest history of the first seed that fails.
 */
export async function explore<Input, Output>(
  flow: Workflow<Input, Output>,
  ...[options = {} as ExploreOptions<Input, Output>]: ExploreArguments<Input, Output>
): Promise<Exploration> {
  assertOptions(options, "input seeds from resume expect limits bodyMs progress", "explore");
  const { seeds = 200, from = 1, progress } = options;
  const bodies = new Bodies(options.bodyMs ?? 1_000);
  const programs = [programOf(flow, options, bodies)];
  const settled = async (): Promise<void> => {
    while (await bodies.wait());
  };
  const total = { seeds, runs: 0, bodies: 0, faults: 0, events: 0, met: new Map<string, number>() };
  for (let seed = from; seed < from + seeds; seed++) {
    const simulation = await simulate({ plan: userPlan(seed), programs, settled });
    if (simulation.violations.length > 0) throw await failure(flow.name, simulation, { programs, settled });
    total.runs += simulation.runs;
    total.bodies += simulation.bodies;
    total.faults += simulation.faults.length;
    total.events += simulation.events;
    tally(total.met, simulation.met);
    progress?.(seed - from + 1);
  }
  return total;
}

/** Actions on the workflows that a plan draws. */
const onGenerated = /^deploy$|-(workflow|schedule)$/;

/**
 * The plan of a seed without what only generated workflows can handle: changed code, edited values, schedules,
 * pauses of a workflow, and the queue.
 */
function userPlan(seed: number): Plan {
  const { schedules: _, pauses: _pauses, queue: _queue, ...plan } = planOf(seed);
  return {
    ...plan,
    // A calm plan edits nothing and sends only valid answers.
    calm: true,
    flows: [],
    runs: plan.runs.map((run) => ({ ...run, flow: 0 })),
    actions: plan.actions.filter(({ kind }) => !onGenerated.test(kind)),
    records: 0,
  };
}

function programOf<Input, Output>(
  { definition }: Workflow<Input, Output>,
  options: ExploreOptions<Input, Output>,
  bodies: Bodies,
): Program {
  const book = new AnswerBook(options.resume ?? {});
  const { name, body, input: schema } = definition;
  return {
    name,
    input: options.input,
    options: ownOptions(definition),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(schema === null ? {} : { schema }),
    body: () => body as (ctx: Context, input: never) => unknown,
    perform: async (process, key, work) => {
      const ms = process.random.pick([0, 0, 20, 3_000]);
      try {
        return await bodies.run(key, async () => work());
      } finally {
        await process.pause(ms);
      }
    },
    answer: ({ key, expires }) => {
      const point = { key, name: nameOf(key), token: "", note: null, schema: null, expiresAt: null };
      if (book.find([point]) !== undefined) return { value: book.answer(point) };
      if (expires) return null;
      throw book.missing([point]);
    },
    mayFail: true,
    judge: (output) => {
      try {
        options.expect?.(output as Output);
        return null;
      } catch (error) {
        return `which \`expect\` rejects: ${String(error)}`;
      }
    },
  };
}

async function failure(
  name: string,
  simulation: Simulation,
  context: Pick<Parameters<typeof simulate>[0], "programs" | "settled">,
): Promise<Error> {
  const { seed } = simulation.plan;
  const { simulation: shrunk } = await shrink(simulation, { ...context, budgetMs: 10_000 });
  // Randomness in the user's code may hide the failure the second time. Then the first simulation is
  // reported.
  const last = shrunk.violations.length > 0 ? shrunk : simulation;
  return new Error(
    `Workflow "${name}" breaks a promise under seed ${seed}: explore(flow, { ..., from: ${seed}, seeds: 1 }).\n` +
      `${describeViolations(last.violations)}\n\nThe shortest history found:\n${eventTable(last)}`,
  );
}
