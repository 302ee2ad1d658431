/** Several workflows on one storage: from a token or a run id to its code. Workers and handlers take an app. */

import type { Definition } from "./engine/definition.ts";
import { advanceRun, cancelRun } from "./runs/drive.ts";
import { DurableError, show } from "./values/errors.ts";
import { Host, type HostOptions } from "./runs/host.ts";
import type { AdvanceOptions } from "./engine/options.ts";
import { openRun } from "./runs/lookup.ts";
import type { Outcome } from "./journal/outcome.ts";
import { deliver, resume, type ResumeOptions, type ResumeResult } from "./runs/resume.ts";
import { Run, start, type StartOptions } from "./run.ts";
import type { ListPage, ListQuery } from "./ports/storage.ts";
import type { AnyWorkflow } from "./workflow.ts";
import type { World } from "./ports/world.ts";

export interface AppOptions extends HostOptions {
  readonly workflows: readonly AnyWorkflow[];
}

export interface SweepOptions {
  /** Runs to advance at most; 1,000 by default. */
  readonly limit?: number;
  /** How many at a time; 16 by default. */
  readonly concurrency?: number;
}

/** What a sweep found and did. */
export interface Sweep {
  readonly outcomes: readonly Outcome<unknown>[];
  /** Runs whose advance failed, with the reason; they stay due. */
  readonly failed: readonly { readonly runId: string; readonly error: unknown }[];
  /** Due runs of workflows this app does not have: left for another. */
  readonly unknown: readonly string[];
}

export interface App {
  /** Names of the workflows it has. */
  readonly workflows: readonly string[];
  readonly world: World;
  /** Records a run of one of its workflows, by name, and drives it in the background; with `drive: false`, leaves that to others. */
  start(workflow: string, input?: unknown, options?: StartOptions): Promise<Run>;
  /** Answers a suspend point and drives the run until it stops again. */
  resume(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult>;
  /** Appends the answer and nothing else: no workflow code runs. Advance the run, or let a sweep find it. */
  deliver(token: string, value: unknown, options?: ResumeOptions): Promise<ResumeResult>;
  /** Drives one run until it stops; harmless when there is nothing to do. */
  advance(runId: string, options?: AdvanceOptions): Promise<Outcome<unknown>>;
  get(runId: string): Run;
  list(query?: ListQuery): Promise<ListPage>;
  cancel(runId: string, reason?: string): Promise<Outcome<unknown>>;
  /** Hides a run at once; what its forks read stays until they have gone. */
  delete(runId: string): Promise<void>;
  /** Advances every run that is due and has no live driver. If every wake-up is lost, this still finds the work. */
  sweep(options?: SweepOptions): Promise<Sweep>;
}

export function createApp(options: AppOptions): App {
  const definitions = new Map<string, Definition>();
  for (const { name, definition } of options.workflows) {
    if (definitions.has(name)) {
      throw new DurableError(
        "invalid-options",
        `createApp was given two workflows named "${name}". Rename one.`,
      );
    }
    definitions.set(name, definition);
  }
  const host = new Host(options, (workflow) => definitions.get(workflow) ?? null);
  return {
    workflows: [...definitions.keys()],
    world: host.world,
    start: async (workflow, input, given = {}) => {
      const definition = host.find(workflow);
      if (definition !== null) return start(host, definition, input, given);
      throw new DurableError(
        "unknown-workflow",
        `This app has no workflow ${show(workflow)}. Add it to createApp({ workflows }).`,
      );
    },
    resume: (token, value, given = {}) => resume(host, token, { value, options: given }),
    deliver: (token, value, given = {}) => deliver(host, token, { value, options: given }),
    advance: (runId, given) => advanceRun(host, runId, given),
    get: (runId) => new Run(runId, { host }),
    list: async (query = {}) => (await host.storage()).list(query),
    cancel: async (runId, reason) => cancelRun(host, await openRun(host, runId), reason),
    delete: async (runId) => (await host.storage()).delete((await openRun(host, runId)).locator),
    sweep: (given = {}) => sweep(host, given),
  };
}

async function sweep(host: Host, { limit = 1_000, concurrency = 16 }: SweepOptions): Promise<Sweep> {
  const { runs } = await (await host.storage()).list({ dueAt: host.world.now(), limit });
  const known = runs.filter(({ workflow }) => host.find(workflow) !== null);
  const unknown = runs.filter(({ workflow }) => host.find(workflow) === null).map(({ runId }) => runId);
  const outcomes: Outcome<unknown>[] = [];
  const failed: { runId: string; error: unknown }[] = [];
  const queue = known.values();
  const one = async (): Promise<void> => {
    for (const { runId } of queue) {
      try {
        outcomes.push(await advanceRun(host, runId, { maxStarts: 50 }));
      } catch (error) {
        failed.push({ runId, error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, known.length) }, one));
  return { outcomes, failed, unknown };
}
