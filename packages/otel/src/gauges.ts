/**
 * Gauges that are read from the storage: runs that are due, runs of each state that have not ended, how long one is due;
 * workers, schedules and quotas.
 */

import { DurableError, type App } from "@durable/core";
import { fleetOf, quotaUse, storageOf, type Fleet, type QuotaUse } from "@durable/core/inspect";
import type { BatchObservableCallback, BatchObservableResult, Meter, Observable } from "@opentelemetry/api";

/** What bounds the cost of the gauges. */
export interface GaugeLimits {
  /** The storage is asked at most this often. */
  readonly everyMs: number;
  /** Runs that are counted for each status, where the storage cannot count them itself. */
  readonly most: number;
}

interface Seen {
  readonly at: number;
  readonly fleet: Fleet;
  /** How late the latest schedule of each workflow is, in seconds. */
  readonly lateness: ReadonlyMap<string, number>;
  readonly quotas: readonly QuotaUse[];
}

/** The states of runs that have not ended, and belong to a workflow. */
const states = "blocked paused cancelling failing running queued waiting sleeping".split(" ") as StateName[];
type StateName = keyof NonNullable<Fleet["load"][number]["states"]>;

/** Registers the gauges of an app; returns a function that removes them. */
export function observeRuns(meter: Meter, app: App, limits: GaugeLimits): () => void {
  const gauges = gaugesOf(meter);
  let known: Promise<Seen> | null = null;
  let isFailing = false;
  const seen = async (): Promise<Seen | null> => {
    try {
      if (known === null || app.world.now() - (await known).at >= limits.everyMs) known = look(app, limits);
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
    const found = await seen();
    if (found !== null) report(result, gauges, app, found);
  };
  const all: Observable[] = Object.values(gauges);
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

const described = {
  "runs.due": "Runs that want a driver and have none.",
  "runs.blocked": "Runs that cannot continue until they are put right.",
  "runs.paused": "Runs that an operator has paused, themselves or with their workflow.",
  "runs.cancelling": "Runs that were cancelled, and clean up.",
  "runs.failing": "Runs that have failed, and undo their steps.",
  "runs.running": "Runs that have a driver.",
  "runs.queued": "Runs that want a driver or a free place, and have none.",
  "runs.waiting": "Runs that wait for an answer, a message or a child.",
  "runs.sleeping": "Runs that wait for a time alone.",
  "runs.lag": "How long the run that is due longest has been due.",
  "workers.live": "Workers with a name that are not silent.",
  "workers.places": "How many runs workers with a name can drive together.",
  "workers.active": "How many runs workers with a name drive.",
  "schedules.lateness": "How long ago the next tick of the schedule that is latest should have been.",
  "quotas.used": "What is used of a quota within its window; of one with keys, by the key that uses most.",
  "quotas.limit": "What a quota allows within its window.",
};

type GaugeName = keyof typeof described;
type Gauges = Readonly<Record<GaugeName, Observable>>;

function gaugesOf(meter: Meter): Gauges {
  const made = Object.entries(described).map(([name, description]) => {
    const unit = name === "runs.lag" || name === "schedules.lateness" ? { unit: "s" } : {};
    return [name, meter.createObservableGauge(`durable.${name}`, { description, ...unit })] as const;
  });
  return Object.fromEntries(made) as Gauges;
}

function report(result: BatchObservableResult, gauges: Gauges, app: App, found: Seen): void {
  const { at, fleet, lateness, quotas } = found;
  for (const workflow of app.workflows) {
    const load = fleet.load.find((one) => one.workflow === workflow);
    for (const state of states)
      result.observe(gauges[`runs.${state}` as GaugeName], load?.states?.[state] ?? 0, { workflow });
    result.observe(gauges["runs.due"], load?.due ?? 0, { workflow });
    const since = load?.dueSince ?? at;
    result.observe(gauges["runs.lag"], Math.max(0, at - since) / 1_000, { workflow });
  }
  for (const [workflow, late] of lateness) result.observe(gauges["schedules.lateness"], late, { workflow });
  for (const { quota, what, used, most } of quotas) {
    result.observe(gauges["quotas.used"], used, { quota, what });
    result.observe(gauges["quotas.limit"], most, { quota, what });
  }
  if (fleet.workers === null) return;
  const live = fleet.workers.filter(({ silent }) => !silent);
  const sum = (of: "concurrency" | "active"): number => live.reduce((total, worker) => total + worker[of], 0);
  result.observe(gauges["workers.live"], live.length);
  result.observe(gauges["workers.places"], sum("concurrency"));
  result.observe(gauges["workers.active"], sum("active"));
}

async function look(app: App, { most }: GaugeLimits): Promise<Seen> {
  const at = app.world.now();
  const [fleet, lateness, quotas] = await Promise.all([
    fleetOf(app, { states: true, most }),
    latenessOf(app, at),
    quotaUse(app),
  ]);
  return { at, fleet, lateness, quotas };
}

/** A schedule is late while its next tick lies in the past. One that runs on time is 0. */
async function latenessOf(app: App, now: number): Promise<ReadonlyMap<string, number>> {
  const late = new Map<string, number>();
  if ((await storageOf(app)).schedules === undefined) return late;
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<App["schedules"]["list"]>> = await app.schedules.list({
      limit: 1_000,
      cursor,
    });
    for (const { workflow, nextAt } of page.schedules)
      if (app.workflows.includes(workflow))
        late.set(workflow, Math.max(late.get(workflow) ?? 0, (now - (nextAt ?? now)) / 1_000));
    cursor = page.next;
  }
  return late;
}

function messageOf(error: unknown): string {
  return DurableError.is(error) || error instanceof Error ? error.message : String(error);
}
