/**
 * A user's workflow in the simulator: random schedules, several workers, crashes and a failing storage, seed
 * by seed. Stops at the first broken invariant and shows the shortest history that breaks it.
 */

import type { Context, Duration, QuotaOptions, Workflow } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";
import type { Answers } from "@durable/testing";
import { AnswerBook, Bodies, Budget, ownOptions } from "@durable/testing/parts";
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
  /**
   * How long to begin seeds, in real time; 4 seconds by default, or what the environment variable `DURABLE_TEST_WITHIN`
   * says. Seeds that do not fit are left out, and the result has their number.
   */
  readonly within?: Duration | undefined;
  /** The first seed; 1 by default. */
  readonly from?: number | undefined;
  /** Answers to suspend points, by name. */
  readonly resume?: Answers | undefined;
  /** Called with the output of every run that completes; throws when the output is wrong. */
  readonly expect?: ((output: Output) => void) | undefined;
  /** Limits of the app in every process, for steps with `{ limit }`. */
  readonly quotas?: Readonly<Record<string, QuotaOptions>> | undefined;
  /** How long virtual time waits for the work of a step, in real time; one second by default. */
  readonly bodyWithin?: Duration | undefined;
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
  /** Seeds that were tried. */
  readonly seeds: number;
  /** Seeds for which `within` left no time. */
  readonly skipped: number;
  readonly runs: number;
  /** How many ends of each kind were recorded. A run that failed has reached an end, and is not a finding. */
  readonly ends: Readonly<Record<"completed" | "failed" | "cancelled", number>>;
  readonly bodies: number;
  readonly faults: number;
  readonly events: number;
  /** Which situations occurred, and how often. */
  readonly met: ReadonlyMap<string, number>;
  /** What was done, in two lines. */
  toString(): string;
}

/**
 * Simulates a workflow with several workers, random schedules and many faults, once for every seed. Rejects
 * with the shortest history of the first seed that fails.
 */
export async function explore<Input, Output>(
  flow: Workflow<Input, Output>,
  ...[options = {} as ExploreOptions<Input, Output>]: ExploreArguments<Input, Output>
): Promise<Exploration> {
  assertOptions(options, "input seeds from within resume expect quotas bodyWithin progress", "explore");
  const { seeds = 200, from = 1, progress } = options;
  const budget = new Budget(options.within);
  const bodies = new Bodies(toMs(options.bodyWithin ?? 1_000, "`bodyWithin`"));
  const programs = [programOf(flow, options, bodies)];
  const settled = async (): Promise<void> => {
    while (await bodies.wait());
  };
  const ends = { completed: 0, failed: 0, cancelled: 0 };
  const total = { seeds: 0, runs: 0, bodies: 0, faults: 0, events: 0, met: new Map<string, number>(), ends };
  // One seed is tried in any case, so that a test cannot pass without one.
  for (let seed = from; seed < from + seeds && (seed === from || budget.leftMs > 0); seed++) {
    const simulation = await simulate({ plan: userPlan(seed), programs, settled });
    if (simulation.violations.length > 0)
      throw await failure(flow.name, simulation, { programs, settled, leftMs: budget.leftMs });
    total.seeds += 1;
    for (const end of ["completed", "failed", "cancelled"] as const)
      ends[end] += simulation.met.get(`entry run.${end}`) ?? 0;
    total.runs += simulation.runs;
    total.bodies += simulation.bodies;
    total.faults += simulation.faults.length;
    total.events += simulation.events;
    tally(total.met, simulation.met);
    progress?.(seed - from + 1);
  }
  const skipped = seeds - total.seeds;
  return { ...total, skipped, toString: () => textOf(flow.name, { ...total, skipped }) };
}

function textOf(name: string, done: Omit<Exploration, "toString">): string {
  const { seeds, skipped, runs, ends, bodies, faults, events } = done;
  const left = skipped === 0 ? "" : ` (${skipped} more did not fit into \`within\`)`;
  return [
    `Workflow "${name}" kept every promise under ${seeds} seeds${left}.`,
    `${runs} runs: ${ends.completed} completed, ${ends.failed} failed, ${ends.cancelled} cancelled; ${bodies} steps ran, ${faults} faults, ${events} events.`,
  ].join("\n");
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
    senders: 0,
    strangers: 0,
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
    ...(options.quotas === undefined ? {} : { quotas: options.quotas }),
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

/** How long to look for a shorter history: what is left of the budget, within these bounds. */
const [leastShrinkMs, mostShrinkMs] = [500, 10_000];

async function failure(
  name: string,
  simulation: Simulation,
  {
    leftMs,
    ...context
  }: Pick<Parameters<typeof simulate>[0], "programs" | "settled"> & { readonly leftMs: number },
): Promise<Error> {
  const { seed } = simulation.plan;
  const budgetMs = Math.min(mostShrinkMs, Math.max(leastShrinkMs, leftMs));
  const { simulation: shrunk } = await shrink(simulation, { ...context, budgetMs });
  // Randomness in the user's code may hide the failure the second time. Then the first simulation is
  // reported.
  const last = shrunk.violations.length > 0 ? shrunk : simulation;
  return new Error(
    `Workflow "${name}" breaks a promise under seed ${seed}: explore(flow, { ..., from: ${seed}, seeds: 1 }).\n` +
      `${describeViolations(last.violations)}\n\nThe shortest history found:\n${eventTable(last)}`,
  );
}
