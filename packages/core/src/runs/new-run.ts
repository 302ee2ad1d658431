/** What is known of a run before it is recorded. */

import type { DriverLease } from "../engine/lease.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { ChildOf, SpawnedBy } from "../journal/entry.ts";
import type { Duration } from "../values/duration.ts";
import type { Tags } from "../values/run-tags.ts";

/** When a new run begins, and beside which others. */
export interface FlowStart {
  /** Due runs with a higher priority, in seconds, are taken first; that of the workflow by default. */
  readonly priority?: number | undefined;
  /** The run begins after this time. */
  readonly delay?: Duration | undefined;
  /** The run begins at this time: a date, or milliseconds since the epoch. */
  readonly at?: Date | number | undefined;
  /**
   * The run begins when no other start with this key came for the time `wait`. Until then, each further start
   * with the key moves its beginning and replaces its input, its tags and its deadline.
   */
  readonly debounce?: { readonly key: string; readonly wait: Duration } | undefined;
  /** While a run of the workflow with this key has not ended, a start returns that run and records none. */
  readonly singleton?: string | { readonly key: string } | undefined;
}

export interface NewRun {
  readonly id?: string | undefined;
  readonly childOf?: ChildOf;
  readonly spawnedBy?: SpawnedBy;
  readonly tags?: Tags | undefined;
  /** Refuses a fork, a child and a run of another workflow under this id as `run-exists`. */
  readonly isNew?: boolean;
  /** How long the run may take; the default of its workflow when it is missing. */
  readonly deadline?: Duration | undefined;
  /** Without the lease the run is due at once, for any worker or sweep. */
  readonly takeLease: boolean;
  /** When it begins, and beside which others. */
  readonly start?: FlowStart | undefined;
}

/** An open run, and whether this process may drive it. */
export interface LeasedRun {
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  /** False while another process drives the run. */
  readonly owned: boolean;
  /** The run was recorded just now. */
  readonly created: boolean;
  /** How often a driver took the run since its journal last grew. Many starts mean that the run kills its drivers. */
  readonly starts: number;
  /** How many batches the journal had when the lease was taken. */
  readonly length: number;
}
