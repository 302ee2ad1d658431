/** What is known of a run before it is recorded. */

import type { ChildOf, SpawnedBy } from "../journal/entry.ts";
import type { Duration } from "../values/duration.ts";
import type { FlowStart } from "./flow.ts";
import type { Tags } from "../values/run-tags.ts";

export interface NewRun {
  readonly id?: string | undefined;
  readonly childOf?: ChildOf;
  readonly spawnedBy?: SpawnedBy;
  readonly tags?: Tags | undefined;
  /** Refuses a fork, a child and a run of another workflow under this id as `run-exists`. */
  readonly isNew?: boolean;
  /** How long the run may take; the default of its workflow when it is missing. */
  readonly deadline?: Duration | undefined;
  /** A run without a nonce, which builds that do not know nonces can read. */
  readonly plain?: boolean;
  /** Without the lease the run is due at once, for any worker or sweep. */
  readonly takeLease: boolean;
  /** When it begins, and beside which others. */
  readonly start?: FlowStart | undefined;
}
