/** Gauges that are read from the storage: runs that are due, running, waiting and blocked, and how long one is due. */

import { DurableError, type App, type ListQuery, type RunHead } from "@durable/core";
import type { BatchObservableCallback, Meter, Observable } from "@opentelemetry/api";

/** What bounds the cost of the gauges. */
export interface GaugeLimits {
  /** The storage is asked at most this often. */
  readonly everyMs: number;
  /** Runs that are counted for each gauge. */
  readonly most: number;
}

interface Counted {
  readonly at: number;
  /** The number of runs of each workflow, by the name of the gauge. */
  readonly runs: Readonly<Record<string, ReadonlyMap<string, number>>>;
  readonly lag: ReadonlyMap<string, number>;
}

const statuses = { running: "running", waiting: "suspended", blocked: "blocked" } as const;

/** Registers the gauges of an app; returns a function that removes them. */
export function observeRuns(meter: Meter, app: App, limits: GaugeLimits): () => void {
  const names = ["due", ...Object.keys(statuses)];
  const gauges = names.map(
    (name) =>
      [
        name,
        meter.createObservableGauge(`durable.runs.${name}`, { description: described[name] ?? "" }),
      ] as const,
  );
  const lag = meter.createObservableGauge("durable.runs.lag", {
    unit: "s",
    description: "How long the run that is due longest has been due.",
  });
  let known: Promise<Counted> | null = null;
  let isFailing = false;
  const counted = async (): Promise<Counted | null> => {
    try {
      if (known === null || app.world.now() - (await known).at >= limits.everyMs) known = count(app, limits);
      const result = await known;
      isFailing = false;
      return result;
    } catch (error) {
      known = null;
      // Once per outage.
      if (!isFailing) app.world.warn(`the gauges of @durable/otel cannot be read: ${messageOf(error)}`);
      isFailing = true;
      return null;
    }
  };
  const observe: BatchObservableCallback = async (result) => {
    const found = await counted();
    if (found === null) return;
    for (const workflow of app.workflows) {
      for (const [name, gauge] of gauges)
        result.observe(gauge, found.runs[name]?.get(workflow) ?? 0, { workflow });
      result.observe(lag, found.lag.get(workflow) ?? 0, { workflow });
    }
  };
  const all: Observable[] = [...gauges.map(([, gauge]) => gauge), lag];
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

const described: Readonly<Record<string, string>> = {
  due: "Runs that want a driver and have none.",
  running: "Runs that are not finished and do not wait.",
  waiting: "Runs that wait for an answer, a time or a child.",
  blocked: "Runs that cannot continue until they are put right.",
};

async function count(app: App, { most }: GaugeLimits): Promise<Counted> {
  const at = app.world.now();
  const due = await headsOf(app, { dueAt: at }, most);
  const runs: Record<string, ReadonlyMap<string, number>> = { due: byWorkflow(due) };
  for (const [name, status] of Object.entries(statuses))
    runs[name] = byWorkflow(await headsOf(app, { status }, most));
  const lag = new Map<string, number>();
  for (const { workflow, dueSince } of due)
    lag.set(workflow, Math.max(lag.get(workflow) ?? 0, (at - (dueSince ?? at)) / 1_000));
  return { at, runs, lag };
}

/** At most `most` runs. */
async function headsOf(app: App, query: ListQuery, most: number): Promise<RunHead[]> {
  const heads: RunHead[] = [];
  let cursor: string | null = null;
  while (heads.length < most && app.workflows.length > 0) {
    const limit = most - heads.length;
    const { runs, next } = await app.list({ ...query, workflow: app.workflows, limit, cursor });
    heads.push(...runs);
    if (next === null || runs.length === 0) break;
    cursor = next;
  }
  return heads;
}

function byWorkflow(heads: readonly RunHead[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { workflow } of heads) counts.set(workflow, (counts.get(workflow) ?? 0) + 1);
  return counts;
}

function messageOf(error: unknown): string {
  return DurableError.is(error) || error instanceof Error ? error.message : String(error);
}
