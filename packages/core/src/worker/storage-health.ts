/**
 * What a worker does about a storage that fails or does not reply. Proven in test/worker-faults.test.ts.
 *
 * storage-health.1. A drive that ended through a fault of the storage says nothing about its run. The worker takes runs more
 *     slowly until a drive succeeds, and rests none of them, so that healthy workers get them and this one goes on by itself.
 * storage-health.2. An outage is one warning, and so is a silence.
 */

import type { App } from "../app.ts";
import type { World } from "../ports/world.ts";
import { DurableError, describeError } from "../values/errors.ts";

const [shortestHoldMs, longestHoldMs] = [250, 5_000];
/** A fault that goes on is said again after this time. */
const sayAgainMs = 300_000;

/** Another drive of the same run, or one on another host, may succeed soon. */
const passing = new Set(["storage-busy", "storage-full", "storage-readonly"]);

export class StorageFaults {
  readonly #world: World;
  #inRow = 0;
  #holdUntil = 0;
  #saidAt = -Infinity;

  constructor(world: World) {
    this.#world = world;
  }

  /** How long the worker takes no run. */
  get holdMs(): number {
    return Math.max(0, this.#holdUntil - this.#world.now());
  }

  /** True when the storage is at fault, so that the run itself needs no rest. */
  blames(runId: string, error: unknown): boolean {
    if (!DurableError.is(error) || !passing.has(error.code)) return false;
    const now = this.#world.now();
    // Drives that were under way together fail together.
    if (this.holdMs === 0) {
      const holdMs = Math.min(longestHoldMs, shortestHoldMs * 2 ** this.#inRow);
      this.#inRow += 1;
      this.#holdUntil = now + holdMs * (0.5 + this.#world.random() / 2);
    }
    if (now - this.#saidAt > sayAgainMs) {
      this.#saidAt = now;
      this.#world.warn(
        `the storage failed while run ${runId} was driven, so the worker takes runs more slowly until it works again: ${describeError(error)}`,
      );
    }
    return true;
  }

  /** A drive has come to its stop. */
  succeeded(): void {
    this.#inRow = 0;
    this.#holdUntil = 0;
    this.#saidAt = -Infinity;
  }
}

/** What is watched, and until when. */
interface Watched {
  readonly app: App;
  readonly world: World;
  /** How long the storage may be silent. */
  readonly leaseMs: number;
  /** True while the worker needs the storage. Nothing is asked of it otherwise, so that an idle database may sleep. */
  readonly isBusy: () => boolean;
  readonly signal: AbortSignal;
}

/** While the worker is busy, asks for one row in each lease, and warns when there is no reply for as long. */
export class SilenceWatch {
  readonly #watched: Watched;
  /** Of the timer that is set, if any. */
  #cancel: (() => void) | null = null;
  #isAsking = false;

  constructor(watched: Watched) {
    this.#watched = watched;
    watched.signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  /** Call it when the worker may have become busy or idle. */
  look(): void {
    const { world, leaseMs, isBusy, signal } = this.#watched;
    if (this.#isAsking) return;
    if (signal.aborted || !isBusy()) this.#stop();
    else
      this.#cancel ??= world.timer(leaseMs, () => {
        this.#cancel = null;
        void this.#ask();
      });
  }

  #stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  async #ask(): Promise<void> {
    const { app, world, leaseMs, signal } = this.#watched;
    const from = world.now();
    let isSaid = false;
    this.#isAsking = true;
    this.#cancel = world.timer(leaseMs, () => {
      isSaid = true;
      world.warn(
        `no call to the storage has ended for ${Math.round(leaseMs / 1_000)} s, so this worker stands still. Its runs are due for others once their leases end.`,
      );
    });
    // A storage that fails has replied, and the poll for due runs reports it.
    await app.list({ limit: 1 }).catch(() => {});
    this.#stop();
    if (isSaid && !signal.aborted)
      world.warn(`the storage replies again, after ${Math.round((world.now() - from) / 1_000)} s`);
    this.#isAsking = false;
    this.look();
  }
}
