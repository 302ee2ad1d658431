/** Which runs a purge deletes, and what it reports. Proven in test/runs/purge.test.ts. */

import { endStatuses } from "../ports/storage-kit.ts";
import { toMs, type Duration } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";

/** How a run has ended. */
export type EndStatus = (typeof endStatuses)[number];

/** Options of `app.purge`: which runs to delete. `olderThan` or `keep` is needed. */
export interface PurgeOptions {
  /** Only runs that ended like this, or in one of these ways; completed ones by default. */
  readonly status?: EndStatus | readonly EndStatus[] | undefined;
  /** Only runs that ended this long ago, or longer. */
  readonly olderThan?: Duration | undefined;
  /** Keeps this many runs of each workflow: the newest of those that `status` and `tags` select. */
  readonly keep?: number | undefined;
  /** Only runs of this workflow, or of one of these. */
  readonly workflow?: string | readonly string[] | undefined;
  /** Only runs with all of these tags. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Deletes at most this many runs; their children do not count. */
  readonly limit?: number | undefined;
  /** Counts what would be deleted, and deletes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Stops the purge after the batch under way. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch with the counts so far. */
  readonly onProgress?: ((purged: Purged) => void) | undefined;
}

/** What a purge has deleted, or would delete. */
export interface Purged {
  /** Runs, without their children. */
  readonly runs: number;
  /** Their children, and the children of those. */
  readonly children: number;
  /** Selected runs that stayed: a child has not ended, or the run changed in the meantime. */
  readonly left: number;
  /** The number of `runs` of each workflow. */
  readonly byWorkflow: Readonly<Record<string, number>>;
  /** True when it stopped early, at `limit` or by `signal`. */
  readonly more: boolean;
}

const names = "status olderThan keep workflow tags limit dryRun signal onProgress";
const mostKept = 10_000;

/** Options that were checked. */
export interface PurgeSettings extends PurgeOptions {
  readonly statuses: readonly EndStatus[];
  readonly endedBefore: number;
}

/** Checks the options of a purge that begins now. */
export function purgeSettings(options: PurgeOptions, now: number): PurgeSettings {
  assertOptions(options, names, "app.purge");
  const { status = "completed", olderThan, keep, limit } = options;
  if (olderThan === undefined && keep === undefined)
    throw refused(
      'has neither `olderThan` nor `keep`, and would delete every run. Pass { olderThan: "30 days" } or { keep: 1_000 }',
    );
  const statuses = [...new Set([status].flat())];
  for (const each of statuses)
    if (!endStatuses.includes(each))
      throw refused(
        `got the status ${show(each)}. Only runs that have ended are deleted: use ${endStatuses.map(show).join(", ")}`,
      );
  assertWhole("keep", keep, mostKept);
  assertWhole("limit", limit, Number.MAX_SAFE_INTEGER);
  // Times are whole milliseconds: a run that ended in this one has ended.
  return { ...options, statuses, endedBefore: now + 1 - toMs(olderThan ?? 0, "olderThan") };
}

function assertWhole(name: string, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= most)) return;
  throw refused(`got ${name}: ${show(value)}. Use a whole number from 0 to ${most}`);
}

function refused(what: string): DurableError {
  return new DurableError("invalid-options", `app.purge ${what}.`);
}
