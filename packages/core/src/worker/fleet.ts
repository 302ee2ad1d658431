/**
 * The workers of a storage, as people see them: which ones there are, and which work waits for one. Proven in test/fleet.test.ts.
 *
 * It only shows: nothing decides by it, so a worker that cannot write its name works as any other.
 */

import type { App, AppOfStorage } from "../app.ts";
import { appStorage } from "../runs/host.ts";
import { pause } from "../ports/world.ts";
import type { RunHead } from "../ports/storage.ts";
import { atOnce } from "../values/limits.ts";
import { hasFields, isTexts, parsed } from "../values/shown.ts";

/** A worker with a name, as it last described itself. */
export interface WorkerInfo {
  readonly name: string;
  /** The workflows whose runs it takes. */
  readonly workflows: readonly string[];
  /** The versions whose runs it takes; `null` for all. */
  readonly versions: readonly string[] | null;
  readonly concurrency: number;
  /** How many runs it drove. */
  readonly active: number;
  /** When it was created, by the clock of the storage. */
  readonly since: number;
  /** When it last wrote this. */
  readonly seenAt: number;
}

/** The work of one workflow. */
export interface WorkflowLoad {
  readonly workflow: string;
  /** Runs that are driven now. */
  readonly driven: number;
  /** Runs that are due and have no driver. */
  readonly due: number;
  /** Since when the first of them is due; `null` without one. */
  readonly dueSince: number | null;
  /** True when the workflow is paused, so that its runs are not taken. */
  readonly paused: boolean;
}

/** What `fleetOf` finds. */
export interface Fleet {
  /** Workers that have a name, by name; `null` where the storage cannot list them. */
  readonly workers: readonly WorkerInfo[] | null;
  /** By workflow, those with work now and those that are paused. */
  readonly load: readonly WorkflowLoad[];
  /** True when there are more runs than were counted. */
  readonly more: boolean;
}

const prefix = "worker ";
/** How often a worker writes, and after which silence it is no longer listed. */
const beatMs = 15_000;
const silentMs = 60_000;
const mostCounted = 5_000;

/** Keeps the description of a worker in the storage, until the signal aborts. */
export async function announce(
  app: App & Partial<AppOfStorage>,
  describe: () => Omit<WorkerInfo, "since" | "seenAt">,
  signal: AbortSignal,
): Promise<void> {
  const { world, [appStorage]: host } = app;
  const limits = (await host?.storage())?.limits;
  if (limits === undefined) return;
  const key = prefix + world.id();
  let since: number | null = null;
  const write = async (keepMs: number): Promise<void> => {
    const { value, now } = await limits.read(key);
    since ??= now;
    const info: WorkerInfo = { ...describe(), since, seenAt: now };
    await limits.swap(key, value, keepMs === 0 ? "" : JSON.stringify(info), Math.max(1, keepMs));
  };
  // The poll for due runs reports a storage that fails; here the next beat tries again.
  while (!signal.aborted) {
    await write(silentMs).catch(() => {});
    if (!signal.aborted) await pause(world, beatMs, signal);
  }
  await write(0).catch(() => {});
}

/** The workers of the storage of an app, and the work that they have or that waits for one. */
export async function fleetOf(app: App): Promise<Fleet> {
  const now = app.world.now();
  const [workers, due, running, paused] = await Promise.all([
    workersOf(app),
    headsOf(app, { dueAt: now }),
    headsOf(app, { status: "running" }),
    app.paused(),
  ]);
  const waiting = new Set(due.heads.map(({ runId }) => runId));
  const load = new Map<string, { driven: number; due: number; dueSince: number | null; paused: boolean }>();
  const of = (workflow: string) => {
    const found = load.get(workflow) ?? { driven: 0, due: 0, dueSince: null, paused: false };
    load.set(workflow, found);
    return found;
  };
  for (const { workflow } of paused) of(workflow).paused = true;
  for (const { workflow, runId } of running.heads) if (!waiting.has(runId)) of(workflow).driven += 1;
  for (const head of due.heads) {
    // It is not taken before something changes.
    if (head.blocked !== undefined) continue;
    const work = of(head.workflow);
    work.due += 1;
    work.dueSince = Math.min(work.dueSince ?? Infinity, head.dueSince ?? Infinity);
  }
  const byName = [...load].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    workers,
    load: byName.map(([workflow, work]) => ({ workflow, ...work })),
    more: due.more || running.more,
  };
}

async function workersOf(app: App & Partial<AppOfStorage>): Promise<WorkerInfo[] | null> {
  const limits = (await app[appStorage]?.storage())?.limits;
  if (limits === undefined) return null;
  const [texts, { now }] = [await limits.texts(prefix), await limits.read(prefix)];
  return texts
    .map(({ value }) => parsed(value))
    .filter(isWorker)
    .filter(({ seenAt }) => now - seenAt < silentMs)
    .toSorted((a, b) => (a.name === b.name ? a.since - b.since : a.name < b.name ? -1 : 1));
}

function isWorker(value: unknown): value is WorkerInfo {
  const { workflows, versions } = Object(value) as Partial<WorkerInfo>;
  const fields = {
    name: "string",
    concurrency: "number",
    active: "number",
    since: "number",
    seenAt: "number",
  };
  return hasFields(value, fields) && isTexts(workflows) && (versions === null || isTexts(versions));
}

async function headsOf(
  app: App,
  query: { readonly dueAt: number } | { readonly status: "running" },
): Promise<{ readonly heads: readonly RunHead[]; readonly more: boolean }> {
  const heads: RunHead[] = [];
  let cursor: string | null = null;
  do {
    const page = await app.list({ ...query, limit: atOnce.listed, cursor });
    heads.push(...page.runs);
    cursor = page.next;
  } while (cursor !== null && heads.length < mostCounted);
  return { heads, more: cursor !== null };
}
