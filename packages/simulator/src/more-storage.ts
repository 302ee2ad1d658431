/** What a storage has beside its journals, as one process sees it: limits, schedules and pauses. Proven in test/sim-fleet.test.ts. */

import type { Storage } from "@durable/core";
import type { WorkflowPause } from "@durable/core/storage";
import type { Operation } from "@durable/testing";
import type { Disk } from "./disk.ts";
import type { Process } from "./process.ts";

/** Sends one request; `cut` leaves out a part of its reply. */
export type Call = <T>(
  operation: Operation,
  apply: () => Promise<T>,
  spoil?: { readonly "cut-short"?: (reply: T) => T },
) => Promise<T>;

export function limitsOf(process: Process, { limits }: Disk, call: Call): Pick<Storage, "limits"> {
  if (limits === undefined) return {};
  return {
    limits: {
      slots: () => call("lease", () => limits.slots()),
      read: (name) => call("lease", () => limits.read(name)),
      swap: async (...given) => {
        let at = Number.POSITIVE_INFINITY;
        const swapped = await call("lease", () => {
          at = Math.min(at, process.scheduler.now);
          return limits.swap(...given);
        });
        process.lastSwap = { at, toldAt: process.scheduler.now };
        return swapped;
      },
      texts: (prefix) => call("lease", () => limits.texts(prefix)),
    },
  };
}

export function schedulesOf(process: Process, { schedules }: Disk, call: Call): Pick<Storage, "schedules"> {
  if (schedules === undefined) return {};
  return {
    schedules: {
      get: (name) => call("schedule", () => schedules.get(name)),
      list: (query) =>
        call("schedule", () => schedules.list(query), {
          "cut-short": (rows) => rows.slice(0, rows.length >> 1),
        }),
      put: (schedule, version) => call("schedule", () => schedules.put(process, schedule, version)),
      delete: (name, version) => call("schedule", () => schedules.delete(name, version)),
    },
  };
}

export function pausesOf(process: Process, disk: Disk, call: Call): Pick<Storage, "pause" | "paused"> {
  if (!disk.offers("pause")) return {};
  let asked = 0;
  const paused = async (): Promise<readonly WorkflowPause[]> => {
    const request = ++asked;
    const pauses = await call("list", () => disk.paused());
    // Replies may overtake each other.
    if (request > (process.pausesTold?.request ?? 0))
      process.pausesTold = {
        request,
        at: process.scheduler.now,
        paused: new Set(pauses.map(({ workflow }) => workflow)),
      };
    return pauses;
  };
  return { pause: (workflow, pause) => call("note", () => disk.pause(workflow, pause)), paused };
}
