/**
 * How and when a worker finds due runs.
 *
 * due-work.1. A worker claims no more runs than it can drive now, and a claim ends soon, so a worker that dies or stops
 *     with claimed runs delays them and keeps none.
 * due-work.2. A notice only says when to poll. A worker also polls now and then without one, so a lost notice delays a
 *     run and strands none (law 7).
 * due-work.3. An idle worker asks rarely: polls become fewer, and notices that lead to nothing are followed more and more
 *     slowly. The times are random, so that the workers of a fleet do not ask in step.
 * due-work.4. Runs of paused workflows are neither claimed nor waited for, so they cost a worker nothing.
 */

import type { App, AppOfStorage } from "../app.ts";
import { appStorage } from "../runs/host.ts";
import type { Signal } from "../engine/promise.ts";
import type { RunHead, Storage } from "../ports/storage.ts";

/** How long claimed runs are kept from other workers: enough to take their leases. */
const quietMs = 5_000;
/** The longest time between two polls of an idle worker: without notices, and where the storage announces due runs. */
const idlePollMs = 5_000;
const idleSweepMs = 30_000;
/** The first pause after a notice that led to nothing. */
const fruitlessMs = 5;

export interface DueOptions {
  readonly intervalMs: number;
  readonly idleMs: number | undefined;
  readonly workflows: readonly string[];
  /** Only runs of these versions; of all when it is missing. */
  readonly versions: readonly string[] | undefined;
}

/** What the worker knows about a run. */
export interface Known {
  /** The run failed to advance here a short time ago. */
  rests(runId: string): boolean;
  drives(runId: string): boolean;
}

export interface Found {
  readonly runIds: readonly string[];
  /** As many as were asked for, so there may be more. */
  readonly more: boolean;
}

export class DueWork {
  readonly #app: App;
  readonly #options: DueOptions;
  /** Polls in a row that found nothing. */
  #empty = 0;
  /** Notices in a row that led to nothing. */
  #fruitless = 0;
  #noticed: { readonly quick: boolean } | null = null;
  /** Runs without a free slot, each with the time before which a list leaves it out. Claims leave them out already. */
  readonly #refused = new Map<string, number>();
  /** The workflows that were not paused when the worker last asked. */
  #workflows: readonly string[];

  constructor(app: App, options: DueOptions) {
    this.#app = app;
    this.#options = options;
    this.#workflows = options.workflows;
  }

  /** Missing for an app that `createApp` did not make. */
  get #host(): AppOfStorage[typeof appStorage] | undefined {
    return (this.#app as Partial<AppOfStorage>)[appStorage];
  }

  /** A workflow of the app has slots, so that a run that stops may let another one begin. */
  get hasSlots(): boolean {
    return this.#host?.slots !== undefined;
  }

  async #storage(): Promise<Storage | null> {
    return this.#host?.storage() ?? null;
  }

  /** At most `free` due runs. They are claimed for this worker where the storage can do that. */
  async find(free: number, known: Known): Promise<Found> {
    const found = await this.#find(free, known);
    const isEmpty = found.runIds.length === 0;
    this.#empty = isEmpty ? this.#empty + 1 : 0;
    this.#fruitless = !isEmpty || this.#noticed === null ? 0 : this.#noticed.quick ? this.#fruitless + 1 : 1;
    this.#noticed = null;
    return found;
  }

  async #find(free: number, known: Known): Promise<Found> {
    const storage = await this.#storage();
    const { world } = this.#app;
    const { workflows, versions: version } = this.#options;
    const paused = new Set((await this.#app.paused()).map((pause) => pause.workflow));
    const workflow = paused.size === 0 ? workflows : workflows.filter((name) => !paused.has(name));
    this.#workflows = workflow;
    // A claim of runs that this worker must not drive would keep them from others.
    if (storage?.claim === undefined || (version !== undefined && storage.finds !== true))
      return this.#list(free, known, storage?.finds === true);
    const { slots } = this.#host ?? {};
    const runs = await storage.claim({ slots, workflow, version, dueAt: world.now(), limit: free, quietMs });
    // A run that this worker still drives is driven again afterwards: nothing else would take it before the claim ends.
    return { runIds: idsOf(runs).filter((runId) => !known.rests(runId)), more: runs.length >= free };
  }

  /** The run could not be driven, because it has no slot. */
  refused(runId: string): void {
    if (this.#refused.size >= 1_000) this.#refused.clear();
    if (this.hasSlots) this.#refused.set(runId, this.#app.world.now() + this.#options.intervalMs);
  }

  #isRefused(runId: string): boolean {
    const refused = (this.#refused.get(runId) ?? 0) > this.#app.world.now();
    if (!refused) this.#refused.delete(runId);
    return refused;
  }

  /** Workers that list the same runs begin with different ones. `finds`: the storage knows versions. */
  async #list(free: number, known: Known, finds: boolean): Promise<Found> {
    const { world } = this.#app;
    const { versions } = this.#options;
    const workflow = this.#workflows;
    const version = finds ? versions : undefined;
    const runIds: string[] = [];
    for (let cursor: string | null = null; ;) {
      const page = await this.#app.list({ dueAt: world.now(), workflow, version, cursor });
      const wanted = idsOf(page.runs).filter(
        (runId) => !known.rests(runId) && !known.drives(runId) && !this.#isRefused(runId),
      );
      runIds.push(...shuffled(wanted, () => world.random()));
      if (page.next === null || runIds.length >= free)
        return { runIds: runIds.slice(0, free), more: runIds.length >= free };
      cursor = page.next;
    }
  }

  /**
   * Waits until it is time to poll again. A worker without notices also polls when one of its runs has stopped; one that
   * gets notices does so only if `urgent`.
   */
  async idle(
    wake: Signal,
    { failing, busy, urgent }: { failing: boolean; busy: boolean; urgent: () => boolean },
  ): Promise<void> {
    const { world } = this.#app;
    const storage = failing ? null : await this.#storage();
    const abort = new AbortController();
    const listens = storage?.whenDue !== undefined;
    const wait = { isOver: !listens };
    const look = (): void => {
      wait.isOver = true;
      wake.set();
    };
    // Nothing announces that a workflow is no longer paused.
    const sweepMs = this.#workflows.length < this.#options.workflows.length ? idlePollMs : idleSweepMs;
    const ms = listens ? this.#idleMs(sweepMs) : this.#pollMs(busy);
    const cancel = world.timer(ms * (0.9 + 0.2 * world.random()), look);
    if (listens) this.#listen(storage, abort.signal, look);
    do await wake.wait();
    while (!wait.isOver && !urgent());
    cancel();
    abort.abort();
  }

  #pollMs(busy: boolean): number {
    const { intervalMs } = this.#options;
    return busy
      ? intervalMs
      : Math.min(intervalMs * 2 ** Math.max(0, this.#empty - 1), this.#idleMs(idlePollMs));
  }

  #idleMs(byDefault: number): number {
    const { intervalMs, idleMs = byDefault } = this.#options;
    return Math.max(intervalMs, idleMs);
  }

  #listen(storage: Storage, signal: AbortSignal, look: () => void): void {
    const { world } = this.#app;
    const { versions } = this.#options;
    const version = storage.finds === true ? versions : undefined;
    const pauseMs =
      this.#fruitless === 0
        ? 0
        : Math.min(fruitlessMs * 2 ** (this.#fruitless - 1), this.#options.intervalMs);
    const listen = (): void => {
      const from = world.now();
      const hear = (quick: boolean): void => {
        if (signal.aborted) return;
        this.#noticed = { quick };
        look();
      };
      // A storage that cannot tell now is asked for runs instead, which shows whether it works.
      storage.whenDue?.(this.#workflows, signal, version).then(
        () => hear(world.now() - from <= Math.max(pauseMs, fruitlessMs)),
        () => hear(true),
      );
    };
    if (pauseMs === 0) return listen();
    signal.addEventListener("abort", world.timer(pauseMs, listen), { once: true });
  }
}

function idsOf(runs: readonly RunHead[]): string[] {
  return runs.map(({ runId }) => runId);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}
