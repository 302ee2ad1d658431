/**
 * What happened in a time, for charts: runs that began then, how many failed, how long they took and what they have cost. From
 * heads alone. Proven in test/inspect/pulse.test.ts.
 */

import type { RunDuring, Storage } from "../ports/storage.ts";
import { hasEnded } from "../ports/storage-kit.ts";
import { costOf, type Prices } from "../values/usage.ts";
import { isOfProduction } from "./spend.ts";

/** Runs that one sum reads at most: the newest. */
export const mostDuring = 20_000;

/** Options of `pulseOf`. */
export interface PulseOptions {
  readonly since: number;
  readonly until: number;
  /** How many parts of equal length the time is cut into. */
  readonly parts: number;
  /** For usage that was recorded without a cost. */
  readonly prices?: Prices | undefined;
}

/** Sums of the runs that began in a time. */
export interface PulseSum {
  readonly started: number;
  /** Runs of these that have ended. */
  readonly ended: number;
  readonly failed: number;
  /** How long those that ended took: half of them at most `median`, 95 of 100 at most `p95`. `null` when none ended. */
  readonly median: number | null;
  readonly p95: number | null;
  /** What they have cost so far. */
  readonly cost: number;
  /** True when some used a model whose price is not known: they cost more. */
  readonly unpriced: boolean;
}

/** The sums that `pulseOf` finds. */
export interface Pulse {
  readonly parts: readonly PulseSum[];
  readonly total: PulseSum;
  /** The same of the time of equal length before; `null` when there were too many runs to read. */
  readonly before: PulseSum | null;
  /** When versions of workflows were first seen in this time, those that began it apart. */
  readonly versions: readonly { readonly at: number; readonly workflow: string; readonly version: string }[];
  /** True when more runs began than were read: the oldest are missing. */
  readonly more: boolean;
}

/** The pulse of the runs of a storage; `null` where it cannot find the runs of a time. */
export async function pulseIn(storage: Storage, options: PulseOptions): Promise<Pulse | null> {
  const { since, until, parts, prices } = options;
  if (storage.during === undefined) return null;
  const after = since - (until - since);
  const found = await storage.during({ by: "created", after, before: until, limit: mostDuring });
  const all = found.filter(isOfProduction);
  const runs = all.filter(({ createdAt }) => createdAt >= since);
  const isCut = found.length === mostDuring;
  const length = (until - since) / parts;
  const byPart = Map.groupBy(runs, ({ createdAt }) => Math.floor((createdAt - since) / length));
  return {
    parts: Array.from({ length: parts }, (_, n) => sumOf(byPart.get(n) ?? [], prices)),
    total: sumOf(runs, prices),
    before: isCut
      ? null
      : sumOf(
          all.filter(({ createdAt }) => createdAt < since),
          prices,
        ),
    versions: versionsOf(all, since),
    more: isCut && runs.length === all.length,
  };
}

function sumOf(runs: readonly RunDuring[], prices: Prices | undefined): PulseSum {
  const done = runs.filter((run) => hasEnded(run));
  const lengths = done.map(({ createdAt, updatedAt }) => updatedAt - createdAt).toSorted((a, b) => a - b);
  const costs = runs.flatMap(({ usage = [] }) => usage.map((row) => row.cost ?? costOf(row, prices)));
  return {
    started: runs.length,
    ended: done.length,
    failed: done.filter(({ status }) => status === "failed").length,
    median: rankOf(lengths, 0.5),
    p95: rankOf(lengths, 0.95),
    cost: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    unpriced: costs.includes(null),
  };
}

/** The smallest of sorted numbers that this share of them does not pass. */
export function rankOf(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

/** Where a workflow has a version that none of its runs read before had; its first one is not counted. */
function versionsOf(newestFirst: readonly RunDuring[], since: number): Pulse["versions"] {
  const known = new Map<string, Set<string>>();
  return newestFirst.toReversed().flatMap(({ workflow, version, createdAt: at }) => {
    if (version === undefined) return [];
    const before = known.get(workflow);
    const isNew = before !== undefined && !before.has(version);
    known.set(workflow, (before ?? new Set()).add(version));
    return isNew && at >= since ? [{ at, workflow, version }] : [];
  });
}

/** Failures of one workflow that differ only in numbers and ids. */
export interface FailureGroup {
  readonly workflow: string;
  /** The same for failures of one kind. */
  readonly group: string;
  readonly code: string;
  /** The step that failed; missing when it is not known. */
  readonly key?: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** How many ended in each part of the time. */
  readonly parts: readonly number[];
  /** What these runs have cost. */
  readonly cost: number;
  /** The runs, the newest first. */
  readonly runs: readonly string[];
}

/** Failed runs by their kind of failure, the most frequent first. */
export function failureGroups(failed: readonly RunDuring[], options: PulseOptions): FailureGroup[] {
  const { since, until, parts, prices } = options;
  const groups = Map.groupBy(failed, ({ workflow, error }) => JSON.stringify([workflow, error?.group ?? ""]));
  return [...groups.values()]
    .map((runs): FailureGroup => {
      const [last] = runs as [RunDuring];
      const counts = new Array<number>(parts).fill(0);
      for (const { updatedAt } of runs) {
        const part = Math.min(
          parts - 1,
          Math.max(0, Math.floor(((updatedAt - since) / (until - since)) * parts)),
        );
        counts[part] = (counts[part] ?? 0) + 1;
      }
      const key = last.error?.key;
      return {
        workflow: last.workflow,
        group: last.error?.group ?? "",
        code: last.error?.code ?? "",
        ...(key !== undefined && { key }),
        count: runs.length,
        first: Math.min(...runs.map(({ updatedAt }) => updatedAt)),
        last: last.updatedAt,
        parts: counts,
        cost: sumOf(runs, prices).cost,
        runs: runs.map(({ runId }) => runId),
      };
    })
    .toSorted((a, b) => b.count - a.count || b.last - a.last);
}

/** The runs that failed in a time, the newest first; `null` where the storage cannot find the runs of a time. */
export async function failedIn(
  storage: Storage,
  { since, until }: Pick<PulseOptions, "since" | "until">,
): Promise<readonly RunDuring[] | null> {
  const time = { after: since, before: until, limit: 5_000 };
  const failed = await storage.during?.({ ...time, by: "ended", status: "failed" });
  return failed?.filter(isOfProduction) ?? null;
}
