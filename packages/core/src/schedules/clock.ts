/**
 * Lets a worker start the runs of due ticks: it checks when the next tick is due, when this process has changed a schedule,
 * and now and then for changes of other processes.
 */

import { Signal } from "../engine/promise.ts";
import type { World } from "../ports/world.ts";
import { describeError } from "../values/errors.ts";
import type { ScheduleSource } from "./api.ts";

/** The longest time between two checks, by default. A schedule that another process has added is noticed after it. */
const idleLookMs = 30_000;
/** The wait after a check that failed. */
const failedMs = 5_000;
/** The workers of a fleet do not all check in the same instant. */
const spreadMs = 50;
/** Warnings about one schedule are this far apart. */
const warnMs = 60_000;

export interface ClockOptions {
  readonly world: World;
  readonly workflows: readonly string[];
  readonly signal: AbortSignal;
  /** How often the worker polls for due runs. It checks schedules no more often. */
  readonly intervalMs: number;
  /** The longest time between two checks. */
  readonly lookMs: number | undefined;
  /** True while the worker reports that its storage cannot be read. */
  readonly isFailing: () => boolean;
}

/** Resolves after the abort, when nothing is under way. */
export async function keepTime(source: ScheduleSource, options: ClockOptions): Promise<void> {
  const { world, signal, workflows, intervalMs, isFailing } = options;
  const { lookMs = Math.max(idleLookMs, intervalMs) } = options;
  const wake = new Signal();
  const set = (): void => wake.set();
  const warned = new Map<string, number>();
  const warn = (about: string, message: string): void => {
    if ((warned.get(about) ?? -Infinity) + warnMs > world.now()) return;
    warned.set(about, world.now());
    world.warn(message);
  };
  source.listeners.add(set);
  signal.addEventListener("abort", set, { once: true });
  for (let failures = 0; !signal.aborted;) {
    let ms = lookMs;
    try {
      const look = await source.fire(workflows, lookMs);
      if (look === null) break;
      const { failed, nextAt } = look;
      failures = 0;
      for (const { schedule, error } of failed)
        warn(schedule, `schedule ${schedule} cannot start its run and will retry: ${describeError(error)}`);
      if (nextAt !== null)
        ms = Math.min(lookMs, Math.max(0, nextAt - world.now()) + world.random() * spreadMs);
    } catch (error) {
      ms = failedMs;
      failures += 1;
      // An outage of the whole storage is reported by the worker.
      if (failures > 1 && !isFailing())
        warn("", `the worker cannot read its schedules and will retry: ${describeError(error)}`);
    }
    if (signal.aborted) break;
    const cancel = world.timer(ms, set);
    await wake.wait();
    cancel();
  }
  source.listeners.delete(set);
  signal.removeEventListener("abort", set);
}
