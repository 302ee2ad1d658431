/** Gauges that are read from the storage: runs that are due, runs of each state that have not ended, and how long one is due. */

import { DurableError, type App, type ListedRun, type ListQuery } from "@durable/core";
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

/** The states of runs that have not ended, and belong to a workflow. */
const states = "blocked paused cancelling failing running queued waiting sleeping".split(" ");

/** Registers the gauges of an app; returns a function that removes them. */
export function observeRuns(meter: Meter, app: App, limits: GaugeLimits): () => void {
  const names = ["due", ...states];
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
  blocked: "Runs that cannot continue until they are put right.",
  paused: "Runs that an operator has paused, themselves or with their workflow.",
  cancelling: "Runs that were cancelled, and clean up.",
  failing: "Runs that have failed, and undo their steps.",
  running: "Runs that have a driver.",
  queued: "Runs that want a driver or a free place, and have none.",
  waiting: "Runs that wait for an answer, a message or a child.",
  sleeping: "Runs that wait for a time alone.",
};

async function count(app: App, { most }: GaugeLimits): Promise<Counted> {
  const at = app.world.now();
  const due = await headsOf(app, { dueAt: at }, most);
  const runs: Record<string, ReadonlyMap<string, number>> = { due: byWorkflow(due) };
  const open: ListedRun[] = [];
  for (const status of ["running", "suspended", "paused", "blocked"] as const)
    open.push(...(await headsOf(app, { status }, most)));
  for (const name of states) runs[name] = byWorkflow(open.filter(({ state }) => state === name));
  const lag = new Map<string, number>();
  for (const { workflow, dueSince } of due)
    lag.set(workflow, Math.max(lag.get(workflow) ?? 0, (at - (dueSince ?? at)) / 1_000));
  return { at, runs, lag };
}

/** At most `most` runs. */
async function headsOf(app: App, query: ListQuery, most: number): Promise<ListedRun[]> {
  const heads: ListedRun[] = [];
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

function byWorkflow(heads: readonly ListedRun[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { workflow } of heads) counts.set(workflow, (counts.get(workflow) ?? 0) + 1);
  return counts;
}

function messageOf(error: unknown): string {
  return DurableError.is(error) || error instanceof Error ? error.message : String(error);
}
