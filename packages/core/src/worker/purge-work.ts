/**
 * How a worker deletes old runs in the background. Proven in test/worker-purge.test.ts.
 *
 * purge-work.1. It has the lowest priority: after each batch it rests for four times as long as the batch took.
 * purge-work.2. Where the storage has turns, one worker of a fleet purges in each period. Elsewhere each worker does, and
 *     finds little to delete.
 * purge-work.3. A purge that fails is reported, and the next period tries again.
 */

import type { App, AppOfStorage } from "../app.ts";
import { appStorage } from "../runs/host.ts";
import { pause, type World } from "../ports/world.ts";
import { purge, type PurgeOptions } from "../runs/purge.ts";
import { toMs, type Duration } from "../values/duration.ts";
import { describeError } from "../values/errors.ts";

/** Options of `createWorker({ purge })`: those of `app.purge`, and how often. */
export interface WorkerPurge extends Omit<PurgeOptions, "dryRun" | "signal"> {
  /** How often old runs are looked for; every hour by default. */
  readonly every?: Duration | undefined;
}

const turnName = "purge";
const restFactor = 4;
const leastMs = 1_000;
/** A new worker begins soon, and not at the same moment as the other workers of its fleet. */
const firstMs = 60_000;

/** Purges in each period, until the signal aborts. */
export async function purgeNowAndThen(
  app: App,
  options: WorkerPurge,
  { signal, world }: { readonly signal: AbortSignal; readonly world: World },
): Promise<void> {
  const { every = "1 hour", ...which } = options;
  const periodMs = Math.max(leastMs, toMs(every, "every"));
  const owner = world.id();
  for (
    let ms = Math.min(periodMs, firstMs) * world.random();
    ;
    ms = periodMs * (0.9 + 0.2 * world.random())
  ) {
    if (!signal.aborted) await pause(world, ms, signal);
    if (signal.aborted) return;
    try {
      await inTurn(app, { owner, periodMs }, { ...which, signal });
    } catch (error) {
      world.warn(
        `the purge in the background failed, and the next period tries again: ${describeError(error)}`,
      );
    }
  }
}

async function inTurn(
  app: App & Partial<AppOfStorage>,
  { owner, periodMs }: { readonly owner: string; readonly periodMs: number },
  options: PurgeOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { world, [appStorage]: host } = app;
  // An app that `createApp` did not make.
  if (host === undefined) return void (await app.purge(options));
  const storage = await host.storage();
  // Shorter than the shortest period, so that the owner does not lose its turn to itself.
  const take = async (): Promise<boolean> =>
    (await storage.takeTurn?.(turnName, owner, periodMs * 0.85)) !== false;
  if (!(await take())) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([options.signal, lost.signal]);
  let from = world.now();
  const between = async (): Promise<void> => {
    await pause(world, Math.max(1, restFactor * (world.now() - from)), signal);
    if (!signal.aborted && !(await take())) lost.abort();
    from = world.now();
  };
  await purge(host, { ...options, signal }, { between });
}
