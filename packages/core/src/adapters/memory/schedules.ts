/** Schedules in this process's memory. Every method does its work synchronously, so that `put` is a compare-and-swap. */

import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "../../ports/schedules.ts";
import { scheduleListing } from "../../ports/storage-kit.ts";

export class MemorySchedules implements ScheduleStore {
  readonly #kept = new Map<string, StoredSchedule>();

  get(name: string): Promise<StoredSchedule | null> {
    return Promise.resolve(this.#kept.get(name) ?? null);
  }

  list(query: StoredScheduleQuery = {}): Promise<readonly StoredSchedule[]> {
    return Promise.resolve(scheduleListing([...this.#kept.values()], query));
  }

  put(schedule: StoredSchedule, version: string | null): Promise<boolean> {
    const fits = (this.#kept.get(schedule.name)?.version ?? null) === version;
    if (fits) this.#kept.set(schedule.name, schedule);
    return Promise.resolve(fits);
  }

  delete(name: string, version: string): Promise<boolean> {
    return Promise.resolve(this.#kept.get(name)?.version === version && this.#kept.delete(name));
  }
}
