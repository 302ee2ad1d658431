/** Faults in schedules, each with the test that must notice it. */

import type { MemoryStorage } from "@durable/core";
import type { ScheduleStore, StoredSchedule } from "@durable/core/storage";
import type { Fault, Planted } from "./conformance-journal-faults.ts";

/** The schedules of the good storage, with the methods that the fault replaces. */
function store(change: (good: ScheduleStore) => Partial<ScheduleStore>): Fault {
  return ({ schedules: good }: MemoryStorage) => ({
    schedules: {
      get: (name) => good.get(name),
      list: (query) => good.list(query),
      put: (schedule, version) => good.put(schedule, version),
      delete: (name, version) => good.delete(name, version),
      ...change(good),
    },
  });
}

async function versionOf(good: ScheduleStore, name: string): Promise<string | null> {
  return (await good.get(name))?.version ?? null;
}

/** Writes whatever the version is. */
async function overwrite(good: ScheduleStore, schedule: StoredSchedule): Promise<boolean> {
  return good.put(schedule, await versionOf(good, schedule.name));
}

export const scheduleFaults: readonly Planted[] = [
  [
    "schedules are returned as they were put",
    "cuts long texts",
    store((good) => ({
      put: (each, version) => good.put({ ...each, text: each.text.slice(0, 9_999) }, version),
    })),
  ],
  [
    "schedules are put only in the place of the version that was read",
    "ignores the version",
    store((good) => ({ put: (each) => overwrite(good, each) })),
  ],
  [
    "schedules are put only in the place of the version that was read",
    "replaces one where there should be none",
    store((good) => ({
      put: (each, version) => (version === null ? overwrite(good, each) : good.put(each, version)),
    })),
  ],
  [
    "schedules are deleted only at the version that was read",
    "deletes any version",
    store((good) => ({
      delete: async (name) => {
        const version = await versionOf(good, name);
        return version !== null && good.delete(name, version);
      },
    })),
  ],
  [
    "schedules are deleted only at the version that was read",
    "lets a late writer bring one back",
    store((good) => ({
      put: async (each, version) => good.put(each, (await good.get(each.name)) === null ? null : version),
    })),
  ],
  [
    "schedules have one winner of many writers",
    "checks and writes in two turns",
    store((good) => ({
      put: async (each, version) => {
        const found = await versionOf(good, each.name);
        await Promise.resolve();
        return found === version && overwrite(good, each);
      },
    })),
  ],
  [
    "schedules change many times, and every handle sees the last change",
    "stops after some changes",
    store((good) => {
      let changes = 0;
      return { put: async (each, version) => ++changes < 20 && good.put(each, version) };
    }),
  ],
  [
    "schedules are listed by name, in pages",
    "begins each page anew",
    store((good) => ({ list: (query) => good.list({ ...query, after: undefined }) })),
  ],
  [
    "schedules that are due are listed, the longest first",
    "sorts them by name",
    store((good) => ({
      list: async (query) => (await good.list(query)).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    })),
  ],
  [
    "schedules that are due are listed, the longest first",
    "lists those that are never due",
    store((good) => ({ list: (query) => good.list({ ...query, dueAt: undefined }) })),
  ],
  [
    "schedules of some workflows are listed",
    "lists all workflows",
    store((good) => ({ list: (query) => good.list({ ...query, workflow: undefined }) })),
  ],
];
