/**
 * Finds due runs and drives them: runs without a live driver, with a new answer, or whose deadline has passed.
 *
 * worker.1. Work is found in the storage alone, so a worker finds it even if every notification is lost (law 7). How and
 *     when it polls is in due-work.ts.
 * worker.2. At most `concurrency` runs at a time; parked runs do not count.
 * worker.3. Stopping hands every run over at its next step boundary: no work is lost, and no attempt is used up.
 * worker.4. A run that keeps killing its worker is skipped, with a warning. A run with a few starts without progress
 *     is a suspect and is driven alone, so that other runs are not blamed for its crashes.
 * worker.5. A worker of some workflows or versions takes no run of others. It leaves one that it meets as it is: no note,
 *     and no start that counts.
 */

import { appSchedules, expectApp, type App, type AppOfStorage } from "../app.ts";
import { DueWork } from "./due-work.ts";
import { toMs, type Duration } from "../values/duration.ts";
import { Signal } from "../engine/promise.ts";
import { DurableError, describeError, show } from "../values/errors.ts";
import type { Outcome } from "../journal/outcome.ts";
import { announce } from "./fleet.ts";
import { SilenceWatch, StorageFaults } from "./storage-health.ts";
import { purgeNowAndThen, type WorkerPurge } from "./purge-work.ts";
import { appStorage, assertHooks, guard } from "../runs/host.ts";
import { purgeSettings } from "../runs/purge.ts";
import type { HooksOption } from "../engine/hooks.ts";
import { withLogger, type Logger, type World } from "../ports/world.ts";
import { Suspects } from "../runs/suspects.ts";
import { keepTime } from "../schedules/clock.ts";
import { assertOptions } from "../values/options.ts";

/** Options of `createWorker`. */
export interface WorkerOptions {
  /**
   * Under which `durable workers` and the dashboard list this worker. Needs a storage with limits, such as SQLite
   * and Postgres. Without a name it is not listed.
   */
  readonly name?: string | undefined;
  /** Takes only runs of these workflows of the app; of all of them by default. */
  readonly workflows?: readonly string[] | undefined;
  /**
   * Takes only runs whose current chapter began with one of these versions of the code; of all versions by
   * default. Children go with the run that waits for them.
   */
  readonly versions?: readonly string[] | undefined;
  /** Runs driven at the same time; 10 by default. */
  readonly concurrency?: number | undefined;
  /**
   * How often a storage that does not announce due runs is asked for them while there is work; 500 ms by
   * default.
   */
  readonly interval?: Duration | undefined;
  /**
   * The longest time between two polls of an idle worker. 5 s by default; 30 s where the storage announces due
   * runs, so that they start at once.
   */
  readonly idleInterval?: Duration | undefined;
  /** Starts without progress after which a run is skipped as `poison`; 50 by default. */
  readonly maxStarts?: number | undefined;
  /** How long `stop` waits for steps that are under way; 30 s by default. */
  readonly drain?: Duration | undefined;
  /** Called with the outcome each time a run stops: for logs and counts. */
  readonly onStop?: ((outcome: Outcome<unknown>) => void) | undefined;
  /**
   * Drives a run: call and await `drive()`. A context around the call, such as an `AsyncLocalStorage` or a
   * span, surrounds the workflow and its steps.
   */
  readonly onDrive?: ((runId: string, drive: () => Promise<void>) => Promise<void>) | undefined;
  /**
   * Deletes old runs in the background, slowly. Where the storage can say so, one worker of a fleet does it at
   * a time.
   */
  readonly purge?: WorkerPurge | undefined;
  /** Hooks of the runs that this worker drives, beside those of the app. */
  readonly hooks?: HooksOption | undefined;
  /** Where warnings of this worker go; the logger of the app by default. */
  readonly logger?: Logger | undefined;
}

/** A running worker. */
export interface Worker {
  /** How many runs it drives now. */
  readonly active: number;
  /**
   * Takes no further run, finishes the steps under way, releases its runs, then resolves. SIGTERM does the
   * same.
   */
  stop(): Promise<void>;
}

/** How long this worker skips a run that failed to advance, is blocked or is poison. */
const restMs = 60_000;

/** After this time a suspect no longer keeps other runs from being taken. */
const aloneMs = 60_000;

/** While more runs are due, a worker waits this long for half of its places, so that it does not ask for each alone. */
const batchMs = 25;

const workerOptions =
  "name workflows versions concurrency interval idleInterval maxStarts drain onStop onDrive hooks logger purge";

/**
 * Starts a loop that finds due runs in the storage and drives them, until it is stopped.
 * @example const worker = createWorker(app, { concurrency: 20 });
 */
export function createWorker(app: App, options: WorkerOptions = {}): Worker {
  assertOptions(options, workerOptions, "createWorker");
  assertHooks(options.hooks);
  if (!((options.concurrency ?? 1) >= 1)) {
    throw new DurableError("invalid-options", "The concurrency of a worker must be at least 1.");
  }
  const unknown = options.workflows?.find((name) => !app.workflows.includes(name));
  if (unknown !== undefined) {
    throw new DurableError(
      "unknown-workflow",
      `A worker cannot take runs of ${show(unknown)}: its app has no such workflow. Add it to createApp({ workflows }).`,
    );
  }
  if (options.purge !== undefined) assertPurge(options.purge, app.world.now());
  expectApp(app);
  const worker = new PollingWorker(app, options);
  void worker.poll();
  return worker;
}

/** Invalid options fail when the worker is created, not in the background. */
function assertPurge({ every = 0, ...options }: WorkerPurge, now: number): void {
  assertOptions(
    options,
    "every status olderThan keep workflow tags limit onProgress",
    "createWorker({ purge })",
  );
  toMs(every, "every");
  purgeSettings(options, now);
}

class PollingWorker implements Worker {
  readonly #app: App;
  readonly #world: World;
  readonly #options: WorkerOptions;
  readonly #due: DueWork;
  readonly #places: number;
  readonly #active = new Map<string, Promise<void>>();
  /** Runs that were claimed while they were still driven here. */
  readonly #again = new Set<string>();
  readonly #resting = new Map<string, number>();
  readonly #faults: StorageFaults;
  /** Drives that have stopped. */
  #stops = 0;
  readonly #suspects: Suspects;
  #aloneUntil = 0;
  readonly #signal = new Signal();
  readonly #abort = new AbortController();
  readonly #intervalMs: number;
  readonly #drainMs: number;
  readonly #forget: () => void;
  readonly #purging: Promise<void>;
  readonly #schedules: Promise<void>;
  readonly #announcing: Promise<void>;
  readonly #silence: SilenceWatch;
  #stopped: Promise<void> | null = null;
  #isDying = false;
  /** A poll for due runs is under way. */
  #isAsking = false;
  /** The last poll for due runs failed. */
  #isFailing = false;

  constructor(app: App, options: WorkerOptions) {
    this.#app = app;
    this.#world = options.logger === undefined ? app.world : withLogger(app.world, options.logger);
    this.#options = options;
    this.#faults = new StorageFaults(this.#world);
    this.#suspects = new Suspects(options.maxStarts ?? 50);
    this.#places = options.concurrency ?? 10;
    this.#intervalMs = toMs(options.interval ?? 500, "interval");
    const idleMs =
      options.idleInterval === undefined ? undefined : toMs(options.idleInterval, "idleInterval");
    const { workflows = app.workflows, versions } = options;
    this.#due = new DueWork(app, { intervalMs: this.#intervalMs, idleMs, workflows, versions });
    this.#drainMs = toMs(options.drain ?? 30_000, "drain");
    const { [appSchedules]: source } = app as Partial<AppOfStorage>;
    const { signal } = this.#abort;
    // An app that `createApp` did not make has no schedules.
    this.#schedules =
      source === undefined
        ? Promise.resolve()
        : keepTime(source, {
            world: app.world,
            workflows: app.workflows,
            signal,
            intervalMs: this.#intervalMs,
            lookMs: idleMs,
            isFailing: () => this.#isFailing,
          });
    const ignore = app.world.onTerminate(() => void this.stop());
    // For its whole life: code of a run may fail after the run has stopped. A process that is about to end for such an
    // error takes no run any more, least of all those that it has just released.
    const unguard = guard(() => {
      this.#isDying = true;
      return Promise.resolve();
    });
    this.#forget = () => {
      ignore();
      unguard();
    };
    this.#purging = options.purge === undefined ? Promise.resolve() : this.#purge(options.purge);
    const { [appStorage]: host } = app as Partial<AppOfStorage>;
    this.#silence = new SilenceWatch({
      app,
      world: this.#world,
      leaseMs: host?.leaseMs ?? 30_000,
      isBusy: () => this.active > 0 || this.#isAsking,
      signal,
    });
    this.#announcing =
      options.name === undefined ? Promise.resolve() : this.#announce(options.name, workflows);
  }

  async #announce(name: string, workflows: readonly string[]): Promise<void> {
    const { versions = null } = this.#options;
    try {
      await announce(
        this.#app,
        () => ({ name, workflows, versions, concurrency: this.#places, active: this.active }),
        this.#abort.signal,
      );
    } catch (error) {
      this.#world.warn(`the worker ${show(name)} cannot be listed: ${describeError(error)}`);
    }
  }

  async #purge(options: WorkerPurge): Promise<void> {
    try {
      await purgeNowAndThen(this.#app, options, { signal: this.#abort.signal, world: this.#world });
    } catch (error) {
      this.#world.warn(`the worker cannot purge: ${describeError(error)}`);
    }
  }

  get active(): number {
    return this.#active.size;
  }

  async poll(): Promise<void> {
    const world = this.#world;
    for (let more = false; !this.#abort.signal.aborted && !this.#isDying;) {
      if (this.#aloneUntil > world.now() || this.#takeSuspect()) {
        await this.#untilStop(this.#intervalMs);
        continue;
      }
      if (this.#faults.holdMs > 0) {
        await this.#untilStop(this.#faults.holdMs);
        continue;
      }
      await this.#untilFree(more);
      if (this.#abort.signal.aborted || this.#isDying || this.#suspects.any) continue;
      const stops = this.#stops;
      this.#isAsking = true;
      this.#silence.look();
      try {
        more = await this.#take();
        this.#isFailing = false;
      } catch (error) {
        // One warning per outage, not one per poll.
        if (!this.#isFailing)
          world.warn(`the worker cannot read its storage and will retry: ${describeError(error)}`);
        this.#isFailing = true;
        more = false;
      }
      this.#isAsking = false;
      this.#silence.look();
      if (!more)
        await this.#due.idle(this.#signal, {
          failing: this.#isFailing,
          busy: this.active > 0,
          // A run that has stopped may have left its slot to one that waits.
          urgent: () =>
            this.#abort.signal.aborted || this.#suspects.any || (this.#due.hasSlots && this.#stops !== stops),
        });
    }
  }

  /** Waits until a run stops, or for some time. */
  async #untilStop(ms: number): Promise<void> {
    const cancel = this.#world.timer(ms, () => this.#signal.set());
    await this.#signal.wait();
    cancel();
  }

  /** Waits for a free place; while more runs are due, a short time for half of them. */
  async #untilFree(more: boolean): Promise<void> {
    const isOver = (): boolean => this.#abort.signal.aborted || this.#suspects.any;
    while (this.active >= this.#places && !isOver()) await this.#signal.wait();
    if (!more) return;
    const wait = { isOver: false };
    const cancel = this.#world.timer(batchMs, () => {
      wait.isOver = true;
      this.#signal.set();
    });
    while (!wait.isOver && this.active > this.#places / 2 && !isOver()) await this.#signal.wait();
    cancel();
  }

  /** Takes due runs for the free places; true when there may be more. */
  async #take(): Promise<boolean> {
    const { runIds, more } = await this.#due.find(this.#places - this.active, {
      rests: (runId) => this.#rests(runId),
      drives: (runId) => this.#active.has(runId),
    });
    if (this.#abort.signal.aborted) return false;
    for (const runId of runIds) {
      if (this.#active.has(runId)) this.#again.add(runId);
      else if (this.active < this.#places) this.#active.set(runId, this.#drive(runId));
    }
    return more;
  }

  #rests(runId: string): boolean {
    const rests = (this.#resting.get(runId) ?? 0) > this.#world.now();
    if (!rests) this.#resting.delete(runId);
    return rests;
  }

  /** Suspects go first, once the active runs have stopped; true when no other run may be taken now. */
  #takeSuspect(): boolean {
    if (!this.#suspects.any) return false;
    const suspect = this.active === 0 ? this.#suspects.take() : null;
    if (suspect !== null) {
      this.#aloneUntil = this.#world.now() + aloneMs;
      this.#active.set(suspect, this.#drive(suspect, true));
    }
    return true;
  }

  async #drive(runId: string, alone = false): Promise<void> {
    try {
      const outcome = await this.#advance(runId, alone);
      this.#faults.succeeded();
      if (alone || !this.#suspects.add(outcome)) {
        if (outcome.status === "blocked") this.#rest(runId, outcome.error);
        if (outcome.status === "running") this.#due.refused(runId);
        this.#notify(outcome);
      }
    } catch (error) {
      // It has begun a chapter of another version since it was found, or its storage does not know versions.
      if (DurableError.is(error, "other-version")) this.#skip(runId);
      else if (!this.#faults.blames(runId, error)) this.#rest(runId, error);
    }
    if (alone) this.#aloneUntil = 0;
    this.#stops += 1;
    this.#active.delete(runId);
    if (this.#again.delete(runId) && !this.#abort.signal.aborted) this.#active.set(runId, this.#drive(runId));
    this.#silence.look();
    this.#signal.set();
  }

  /** Advances a run, inside the hook of the user if there is one. */
  async #advance(runId: string, alone: boolean): Promise<Outcome<unknown>> {
    const { signal } = this.#abort;
    const { onDrive, hooks, versions } = this.#options;
    const given = { signal, hooks, versions, patience: this.#intervalMs, ...this.#suspects.optionsOf(alone) };
    let outcome: Outcome<unknown> | null = null;
    const drive = (): Promise<void> => {
      const driving = this.#app.advance(runId, given).then((stop) => void (outcome = stop));
      // A hook that does not await it must not leave a rejection behind.
      driving.catch(() => {});
      return driving;
    };
    await (onDrive === undefined ? drive() : onDrive(runId, drive));
    if (outcome !== null) return outcome;
    throw new DurableError("invalid-options", "onDrive did not call its `drive`, so the run was not driven.");
  }

  #skip(runId: string): void {
    this.#resting.set(runId, this.#world.now() + restMs);
  }

  #rest(runId: string, error: unknown): void {
    this.#skip(runId);
    this.#world.warn(`run ${runId} is skipped for a minute: ${describeError(error)}`);
  }

  /** An error in the listener must not affect the run. */
  #notify(outcome: Outcome<unknown>): void {
    try {
      this.#options.onStop?.(outcome);
    } catch (error) {
      this.#world.warn(`onStop threw for run ${outcome.runId}: ${describeError(error)}`);
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const world = this.#world;
    this.#abort.abort();
    this.#signal.set();
    this.#forget();
    await new Promise<void>((resolve) => {
      // Cancelled when all runs are released, because a pending timer keeps the process alive.
      const cancel = world.timer(this.#drainMs, resolve);
      const background = [this.#purging, this.#schedules, this.#announcing];
      void Promise.all([...this.#active.values(), ...background]).then(() => resolve(cancel()));
    });
    if (this.active === 0) return;
    const left = [...this.#active.keys()].join(", ");
    world.warn(`the worker stopped with steps under way; they will run again elsewhere: ${left}`);
  }
}
