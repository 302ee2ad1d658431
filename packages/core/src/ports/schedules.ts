/**
 * The port of schedules: a member that a storage may have. A storage keeps each schedule as a text with a version; what
 * the text means is known to core alone. Safety rests on `put`, a compare-and-swap on the version.
 */

/** A schedule, as a storage keeps it. */
export interface StoredSchedule {
  readonly name: string;
  /** The workflow whose runs it starts. */
  readonly workflow: string;
  /** When a worker should check it next; `null` while there is nothing to do. */
  readonly dueAt: number | null;
  /** Chosen by the writer, and never used twice. */
  readonly version: string;
  /** What core keeps of it. */
  readonly text: string;
}

/** Which schedules to list. */
export interface StoredScheduleQuery {
  /** Only schedules of these workflows. */
  readonly workflow?: readonly string[] | undefined;
  /** Only schedules that are due at this time, those that are due longest first. Without it they are sorted by name. */
  readonly dueAt?: number | undefined;
  /** Without `dueAt`: only names that sort after this one. */
  readonly after?: string | undefined;
  /** Schedules per page; 100 by default. */
  readonly limit?: number | undefined;
  /** A storage that reads each schedule by a request of its own stops when this aborts. Each list begins with others. */
  readonly signal?: AbortSignal | undefined;
}

/** Keeps schedules. */
export interface ScheduleStore {
  /** One schedule; `null` when there is none of this name. Sees every write that was acknowledged before. */
  get(name: string): Promise<StoredSchedule | null>;
  /** A page of schedules. */
  list(query?: StoredScheduleQuery): Promise<readonly StoredSchedule[]>;
  /**
   * Writes a schedule if the stored one has this version; `null` means that there must be none. Returns false,
   * and changes nothing, when another writer was first. It may also return false after a write that took
   * effect, if another writer has replaced it since.
   */
  put(schedule: StoredSchedule, version: string | null): Promise<boolean>;
  /** Removes a schedule if it has this version; false when another writer was first. */
  delete(name: string, version: string): Promise<boolean>;
}
