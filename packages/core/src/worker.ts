/**
 * Finds due runs and drives them: those without a live driver, those that were answered, those whose time has come.
 *
 * W1. Work is found in the storage alone: if every wake-up is lost, a worker still finds it (law 7).
 * W2. At most `concurrency` runs at a time; a run that sleeps or waits takes no place.
 * W3. Stopping hands every run on at its next step boundary: nothing is lost, no attempt is burnt.
 * W4. A run that keeps killing its worker is left alone, and said so; neighbours go on.
 */

import type { App } from "./app.ts";
import { toMs, type Duration } from "./duration.ts";
import { Bell } from "./engine/promise.ts";
import { describeError } from "./errors.ts";
import { pause } from "./journal.ts";
import type { Outcome } from "./outcome.ts";

export interface WorkerOptions {
  /** Runs driven at the same time; 10 by default. */
  readonly concurrency?: number;
  /** How often the storage is asked for due runs; 500 ms by default. */
  readonly interval?: Duration;
  /** Starts without progress after which a run is left alone as `poison`; 50 by default. */
  readonly maxStarts?: number;
  /** How long `stop` waits for steps that are under way; 30 s by default. */
  readonly drain?: Duration;
  /** Hears how each drive stopped: for logs and counts. */
  readonly onStop?: (outcome: Outcome<unknown>) => void;
}

export interface Worker {
  /** Runs being driven now. */
  readonly active: number;
  /** Takes no further run, hands on those under way, and settles when they are let go. SIGTERM does the same. */
  stop(): Promise<void>;
}

/** How long a run that failed to advance, is blocked or is poison is left alone by this worker. */
const restMs = 60_000;

export function createWorker(app: App, options: WorkerOptions = {}): Worker {
  const worker = new PollingWorker(app, options);
  void worker.poll();
  return worker;
}

class PollingWorker implements Worker {
  readonly #app: App;
  readonly #options: WorkerOptions;
  readonly #active = new Map<string, Promise<void>>();
  readonly #resting = new Map<string, number>();
  readonly #bell = new Bell();
  readonly #abort = new AbortController();
  readonly #intervalMs: number;
  readonly #forget: () => void;

  constructor(app: App, options: WorkerOptions) {
    this.#app = app;
    this.#options = options;
    this.#intervalMs = toMs(options.interval ?? 500, "interval");
    this.#forget = app.world.onTerminate(() => void this.stop());
  }

  get active(): number {
    return this.#active.size;
  }

  async poll(): Promise<void> {
    const { world } = this.#app;
    while (!this.#abort.signal.aborted) {
      try {
        await this.#take();
      } catch (error) {
        world.warn(`the worker cannot read its storage and tries again: ${describeError(error)}`);
      }
      const cancel = world.timer(this.#intervalMs, () => this.#bell.ring());
      await this.#bell.wait();
      cancel();
    }
  }

  /** Takes due runs while there are places: page by page, past those that are not for this worker. */
  async #take(): Promise<void> {
    const { world, workflows } = this.#app;
    const known = new Set(workflows);
    const places = this.#options.concurrency ?? 10;
    for (let cursor: string | null | undefined; cursor !== null && this.active < places;) {
      const page = await this.#app.list({ dueAt: world.now(), ...(cursor === undefined ? {} : { cursor }) });
      for (const { runId, workflow } of page.runs) {
        const rests = (this.#resting.get(runId) ?? 0) > world.now();
        if (known.has(workflow) && !rests && !this.#active.has(runId) && this.active < places)
          this.#drive(runId);
      }
      cursor = page.next;
    }
  }

  #drive(runId: string): void {
    this.#resting.delete(runId);
    const { maxStarts = 50 } = this.#options;
    const patience = this.#intervalMs;
    const driving = this.#app
      .advance(runId, { signal: this.#abort.signal, maxStarts, patience })
      .then((outcome) => {
        if (outcome.status === "blocked") this.#rest(runId, outcome.error);
        this.#options.onStop?.(outcome);
      })
      .catch((error: unknown) => this.#rest(runId, error))
      .finally(() => {
        this.#active.delete(runId);
        this.#bell.ring();
      });
    this.#active.set(runId, driving);
  }

  #rest(runId: string, error: unknown): void {
    this.#resting.set(runId, this.#app.world.now() + restMs);
    this.#app.world.warn(`run ${runId} is left alone for a minute: ${describeError(error)}`);
  }

  async stop(): Promise<void> {
    const { world } = this.#app;
    this.#abort.abort();
    this.#bell.ring();
    this.#forget();
    const drained = Promise.all(this.#active.values()).then(() => true);
    const late = pause(world, toMs(this.#options.drain ?? 30_000, "drain")).then(() => false);
    if (await Promise.race([drained, late])) return;
    const left = [...this.#active.keys()].join(", ");
    world.warn(`the worker stopped with steps still under way, which will run again elsewhere: ${left}`);
  }
}
