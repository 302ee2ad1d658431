/** One pass over the due runs of an app, for places without workers. */

import type { Outcome } from "../journal/outcome.ts";
import { advanceRun } from "../runs/drive.ts";
import { byId } from "../runs/lookup.ts";
import type { Host } from "../runs/host.ts";
import { listRuns } from "../runs/list.ts";
import { Suspects } from "../runs/suspects.ts";
import { assertOptions } from "../values/options.ts";

/** Options of `app.sweep`. */
export interface SweepOptions {
  /** How many runs to advance at most; 1,000 by default. */
  readonly limit?: number | undefined;
  /** How many runs to advance at the same time; 16 by default. */
  readonly concurrency?: number | undefined;
}

/** The result of a sweep. */
export interface Sweep {
  /** Where each advanced run stopped. */
  readonly outcomes: readonly Outcome<unknown>[];
  /** Runs whose advance threw, with the reason; they stay due. */
  readonly failed: readonly { readonly runId: string; readonly error: unknown }[];
  /** Runs that schedules have started in this sweep. */
  readonly scheduled: readonly string[];
  /** Some due runs of workflows that this app does not have; they are left for another process. */
  readonly unknown: readonly string[];
}

/** How many due runs of any workflow a sweep lists, to name some whose workflow is unknown. */
const unknownPage = 100;
const sweepStarts = 50;

export async function sweep(
  host: Host,
  schedules: { fire(): Promise<readonly string[]> },
  { workflow, options }: { readonly workflow: readonly string[]; readonly options: SweepOptions },
): Promise<Sweep> {
  assertOptions(options, "limit concurrency", "app.sweep");
  const { limit = 1_000, concurrency = 16 } = options;
  const scheduled = await schedules.fire();
  const dueAt = host.world.now();
  const { runs } = await listRuns(host, { dueAt, workflow, limit });
  const others = await listRuns(host, { dueAt, limit: unknownPage });
  const unknown = others.runs.filter((run) => host.find(run.workflow) === null).map(({ runId }) => runId);
  const outcomes: Outcome<unknown>[] = [];
  const failed: { runId: string; error: unknown }[] = [];
  const suspects = new Suspects(sweepStarts);
  const drive = async (runId: string, alone: boolean): Promise<void> => {
    try {
      const outcome = await byId(host, runId, () => advanceRun(host, runId, suspects.optionsOf(alone)));
      if (alone || !suspects.add(outcome)) outcomes.push(outcome);
    } catch (error) {
      failed.push({ runId, error });
    }
  };
  const queue = runs.values();
  const one = async (): Promise<void> => {
    for (const { runId } of queue) await drive(runId, false);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, runs.length) }, one));
  for (let runId = suspects.take(); runId !== null; runId = suspects.take()) await drive(runId, true);
  return { outcomes, failed, scheduled, unknown };
}
