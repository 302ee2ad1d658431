/** The schedules of an app. Their code is loaded with the first one. */

import type { ScheduleStore } from "../ports/schedules.ts";
import type { Host } from "../runs/host.ts";
import { describeError } from "../values/errors.ts";
import { atOnce } from "../values/limits.ts";
import { assertOptions } from "../values/options.ts";
import * as manage from "./manage.ts";
import type { Look } from "./fire.ts";
import type { ScheduleInfo, ScheduleOptions, Schedules } from "./types.ts";

/** The schedules of an app, as workers and sweeps see them. */
export interface ScheduleSource {
  /**
   * Starts the runs of ticks that are due; `nextAt` is when to check again, if that is within `aheadMs`. `null` where the
   * storage keeps no schedules.
   */
  fire(workflow: readonly string[], aheadMs: number, signal?: AbortSignal): Promise<Look | null>;
  /** Called when this process has changed a schedule. */
  readonly listeners: Set<() => void>;
}

/** The schedules of a host: for its users, and for its workers. */
export function schedulesOf(
  host: Host,
  workflows: readonly string[],
): {
  readonly schedules: Schedules;
  readonly source: ScheduleSource;
  readonly define: (name: string, workflow: string, options: ScheduleOptions) => Promise<ScheduleInfo>;
} {
  const listeners = new Set<() => void>();
  const noticed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    for (const listener of listeners) listener();
    return result;
  };
  const source: ScheduleSource = {
    listeners,
    fire: async (workflow, aheadMs, signal) => {
      const { schedules: store } = await host.storage();
      return store === undefined ? null : fireDue(host, store, { workflow, aheadMs, signal });
    },
  };
  return {
    source,
    define: async (...given) => noticed(manage.define(host, ...given)),
    schedules: {
      list: async (query) => manage.list(host, query),
      get: async (name) => manage.get(host, name),
      pause: async (name) => manage.pause(host, name),
      unpause: async (name) => noticed(manage.unpause(host, name)),
      delete: async (name) => manage.remove(host, name),
      next: async (name, count) => manage.next(host, name, count),
      trigger: async (name) => manage.trigger(host, name),
      fire: async (options = {}) => {
        assertOptions(options, "signal", "app.schedules.fire");
        const { started = [], failed = [] } = (await source.fire(workflows, 0, options.signal)) ?? {};
        for (const { schedule, error } of failed)
          host.world.warn(`schedule ${schedule} could not start its run: ${describeError(error)}`);
        return started;
      },
    },
  };
}

interface Ahead {
  readonly workflow: readonly string[];
  readonly aheadMs: number;
  readonly signal: AbortSignal | undefined;
}

async function fireDue(
  host: Host,
  store: ScheduleStore,
  { workflow, aheadMs, signal }: Ahead,
): Promise<Look> {
  const now = host.world.now();
  const query = { workflow, dueAt: now + aheadMs, limit: atOnce.listed, signal };
  const found = await store.list(query);
  // They are sorted by time. Every worker reads them, and loads nothing more while none is due.
  const nextAt = found[0]?.dueAt ?? null;
  if (nextAt === null || nextAt > now) return { started: [], failed: [], nextAt };
  return manage.fireFound(host, store, { found, query, now });
}
