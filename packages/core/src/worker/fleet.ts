/**
 * The workers of a storage, as people see them: which ones there are, and which work waits for one. Proven in test/fleet.test.ts.
 *
 * It only shows: nothing decides by it, so a worker that cannot write its name works as any other.
 */

import type { App, AppOfStorage } from "../app.ts";
import { appStorage } from "../runs/host.ts";
import { pause } from "../ports/world.ts";
import { stateOf, type RunStateName } from "../journal/run-state.ts";
import type { ListPage, ListQuery, RunHead, RunTally } from "../ports/storage.ts";
import { assertOptions } from "../values/options.ts";
import { atOnce } from "../values/limits.ts";
import { hasFields, isTexts, parsed } from "../values/shown.ts";

/** A worker with a name, as it last described itself. */
export interface WorkerInfo {
  readonly name: string;
  /** Tells workers of one name apart. */
  readonly id: string;
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
  /** True when it has not written for longer than it should: its process has died, or cannot reach the storage. */
  readonly silent: boolean;
}

/** What a worker writes. */
type Described = Omit<WorkerInfo, "id" | "silent">;

/** A worker with a name that was stopped. */
export interface StoppedWorker {
  readonly name: string;
  readonly since: number;
  readonly stoppedAt: number;
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
  /** How many runs that have not ended do what; only when asked for. */
  readonly states?: Readonly<Partial<Record<RunStateName, number>>>;
}

/** Options of `fleetOf`. */
export interface FleetOptions {
  /** Counts all runs that have not ended by their state. Without it, only those that are driven or due are counted. */
  readonly states?: boolean | undefined;
  /** How many runs of each status are counted where the storage has no `tally`; 5,000 by default. */
  readonly most?: number | undefined;
}

/** What `fleetOf` finds. */
export interface Fleet {
  /** Workers that have a name, by name; `null` where the storage cannot list them. */
  readonly workers: readonly WorkerInfo[] | null;
  /** Workers that had a name and stopped within a day, the last first. One that died is in neither list. */
  readonly stopped: readonly StoppedWorker[];
  /** By workflow, those with work now and those that are paused. */
  readonly load: readonly WorkflowLoad[];
  /** True when there are more runs than were counted. */
  readonly more: boolean;
}

const prefix = "worker ";
/** How often a worker writes, after which silence it is said to be silent, and after which it is no longer listed. */
const beatMs = 15_000;
const lateMs = 20_000;
const silentMs = 60_000;
const mostCounted = 5_000;
/** For how long a worker that stopped is told of, and how many are. */
const toldMs = 86_400_000;
const mostTold = 20;

/** Keeps the description of a worker in the storage, until the signal aborts. */
export async function announce(
  app: App & Partial<AppOfStorage>,
  describe: () => Omit<Described, "since" | "seenAt">,
  signal: AbortSignal,
): Promise<void> {
  const { world, [appStorage]: host } = app;
  const limits = (await host?.storage())?.limits;
  if (limits === undefined) return;
  const key = prefix + world.id();
  const { underWay } = host ?? {};
  const { name } = describe();
  // What this process works on is shown with the name.
  if (underWay) underWay.worker = name;
  let since: number | null = null;
  const write = async (keepMs: number, isOver = false): Promise<void> => {
    const { value, now } = await limits.read(key);
    since ??= now;
    const info = { ...describe(), since, seenAt: now, ...(isOver && { stoppedAt: now }) };
    await limits.swap(key, value, JSON.stringify(info), keepMs);
  };
  // The poll for due runs reports a storage that fails; here the next beat tries again.
  while (!signal.aborted) {
    await write(silentMs).catch(() => {});
    if (!signal.aborted) await pause(world, beatMs, signal);
  }
  if (underWay?.worker === name) underWay.worker = undefined;
  await write(toldMs, true).catch(() => {});
}

/** The workers of the storage of an app, and the work that they have or that waits for one. */
export async function fleetOf(app: App, options: FleetOptions = {}): Promise<Fleet> {
  assertOptions(options, "states most", "fleetOf");
  const now = app.world.now();
  const [{ workers, stopped }, { parts, more }, paused] = await Promise.all([
    workersOf(app),
    openRuns(app, now, options),
    app.paused(),
  ]);
  const pausedNames = new Set(paused.map(({ workflow }) => workflow));
  const load = new Map<string, Counted>();
  for (const workflow of pausedNames) load.set(workflow, counted(true));
  for (const part of parts) {
    const { workflow, runs, driven, due, status, dueSince } = part;
    const state = stateOf(
      { ...part, waits: part.waits || undefined },
      { now, paused: pausedNames.has(workflow) },
    );
    // A run that is blocked is not taken before something changes.
    const isDue = due && status !== "blocked";
    if (!driven && !isDue && options.states !== true) continue;
    const work = load.get(workflow) ?? counted(false);
    load.set(workflow, work);
    if (driven) work.driven += runs;
    if (isDue) work.due += runs;
    if (isDue) work.dueSince = Math.min(work.dueSince ?? Infinity, dueSince ?? Infinity);
    work.states[state] = (work.states[state] ?? 0) + runs;
  }
  const byName = [...load].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const shown = byName.map(([workflow, { states, ...work }]) => ({
    workflow,
    ...work,
    ...(options.states === true && { states }),
  }));
  return { workers, stopped, load: shown, more };
}

interface Counted {
  driven: number;
  due: number;
  dueSince: number | null;
  paused: boolean;
  states: Partial<Record<RunStateName, number>>;
}

function counted(paused: boolean): Counted {
  return { driven: 0, due: 0, dueSince: null, paused, states: {} };
}

interface OpenRuns {
  readonly parts: readonly RunTally[];
  readonly more: boolean;
}

/** The runs that have not ended: as the storage counts them, or one by one. */
async function openRuns(
  app: App & Partial<AppOfStorage>,
  now: number,
  options: FleetOptions,
): Promise<OpenRuns> {
  const storage = await app[appStorage]?.storage();
  if (storage?.tally !== undefined) return { parts: await storage.tally(now), more: false };
  const { states = false, most = mostCounted } = options;
  const statuses = states ? (["running", "suspended", "paused", "blocked"] as const) : (["running"] as const);
  const [due, ...others] = await Promise.all([
    headsOf(app, { dueAt: now }, most),
    ...statuses.map((status) => headsOf(app, { status }, most)),
  ]);
  const isDue = new Set(due.heads.map(({ runId }) => runId));
  const heads = new Map([due, ...others].flatMap((page) => page.heads.map((head) => [head.runId, head])));
  const parts = [...heads.values()].map((head): RunTally => {
    const { runId, status, waits, dueSince } = head;
    const isOneDue = isDue.has(runId);
    const driven = head.driven ?? (status === "running" && !isOneDue);
    const sums = { runs: 1, waits: waits !== undefined, driven, due: isOneDue };
    return { ...head, ...sums, dueSince: isOneDue ? dueSince : null };
  });
  return { parts, more: [due, ...others].some(({ more }) => more) };
}

async function workersOf(app: App & Partial<AppOfStorage>): Promise<Pick<Fleet, "workers" | "stopped">> {
  const limits = (await app[appStorage]?.storage())?.limits;
  if (limits === undefined) return { workers: null, stopped: [] };
  const [texts, { now }] = [await limits.texts(prefix), await limits.read(prefix)];
  const all = texts.flatMap(({ name, value }) => {
    const worker = parsed(value);
    return isWorker(worker) ? [{ ...worker, id: name.slice(prefix.length) }] : [];
  });
  const workers = all
    .filter((worker) => !hasStopped(worker) && now - worker.seenAt < silentMs)
    .map((worker) => ({ ...worker, silent: now - worker.seenAt > lateMs }))
    .toSorted((a, b) => (a.name === b.name ? a.since - b.since : a.name < b.name ? -1 : 1));
  const stopped = all
    .filter(hasStopped)
    .toSorted((a, b) => b.stoppedAt - a.stoppedAt)
    .slice(0, mostTold)
    .map(({ name, since, stoppedAt }) => ({ name, since, stoppedAt }));
  return { workers, stopped };
}

const hasStopped = <T extends Described>(worker: T): worker is T & StoppedWorker =>
  hasFields(worker, { stoppedAt: "number" });

function isWorker(value: unknown): value is Described {
  const { workflows, versions } = Object(value) as Partial<Described>;
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
  query: Pick<ListQuery, "dueAt" | "status">,
  most: number,
): Promise<{ readonly heads: readonly RunHead[]; readonly more: boolean }> {
  const heads: RunHead[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.min(atOnce.listed, most - heads.length);
    const page: ListPage = await app.list({ ...query, limit, cursor });
    heads.push(...page.runs);
    cursor = page.next;
  } while (cursor !== null && heads.length < most);
  return { heads, more: cursor !== null };
}
