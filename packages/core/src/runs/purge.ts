/**
 * Deletes runs that have ended, by age or by number. Proven in test/runs/purge.test.ts.
 *
 * purge.1. Only runs that have ended are deleted, and each only if it is still as it was listed. A run that went on, or
 *     that was begun anew under its id, stays.
 * purge.2. Children go before their parent. A purge that is interrupted leaves the parent, and the next one goes on.
 * purge.3. A child stays as long as its parent exists, and a parent as long as one of its children has not ended.
 * purge.4. Memory holds one page of runs with their children, and the ids of runs that are kept by number.
 */

import { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { beyondEnd, hasEnded, isFound, isUnchanged, endStatuses } from "../ports/storage-kit.ts";
import type { ListPage, ListQuery, RunHead, Storage } from "../ports/storage.ts";
import { atOnce } from "../values/limits.ts";
import type { Host } from "./host.ts";
import { toMs, type Duration } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";

/** What a caller inside of the library may ask for besides. */
export interface Pace {
  /** Called between two batches. */
  readonly between?: (() => Promise<void>) | undefined;
}

export async function purge(host: Host, options: PurgeOptions, pace: Pace = {}): Promise<Purged> {
  return new Purge(host, await host.storage(), purgeSettings(options, host.world.now())).run(pace);
}

/** A run and everything below it, in the order in which they are deleted. */
type Family = readonly RunHead[];

class Purge {
  readonly #host: Host;
  readonly #storage: Storage;
  readonly #settings: PurgeSettings;
  readonly #kept = new Map<string, ReadonlySet<string>>();
  readonly #byWorkflow = new Map<string, number>();
  #runs = 0;
  #children = 0;
  #left = 0;

  constructor(host: Host, storage: Storage, settings: PurgeSettings) {
    this.#host = host;
    this.#storage = storage;
    this.#settings = settings;
  }

  async run(pace: Pace): Promise<Purged> {
    const { dryRun, signal } = this.#settings;
    const more = await this.#all(pace);
    if (this.#runs > 0 && dryRun !== true) await this.#storage.giveBackSpace?.(signal);
    return this.#counts(more);
  }

  /** True when it stopped early. */
  async #all({ between }: Pace): Promise<boolean> {
    const { statuses, endedBefore, workflow, onProgress } = this.#settings;
    for (const status of statuses)
      for await (const page of this.#pages({ status, endedBefore, workflow })) {
        const roots = await this.#selected(page);
        for (let from = 0; from < roots.length; from += atOnce.purged) {
          if (this.#stops) return true;
          await this.#delete(roots.slice(from, from + atOnce.purged));
          onProgress?.(this.#counts(false));
          await between?.();
        }
        if (this.#stops) return true;
      }
    return false;
  }

  get #stops(): boolean {
    const { signal, limit = Infinity } = this.#settings;
    return signal?.aborted === true || this.#runs >= limit;
  }

  #counts(more: boolean): Purged {
    const byWorkflow = Object.fromEntries(this.#byWorkflow);
    return { runs: this.#runs, children: this.#children, left: this.#left, byWorkflow, more };
  }

  async *#pages(query: ListQuery): AsyncGenerator<readonly RunHead[]> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const tags = this.#storage.finds === true ? this.#settings.tags : undefined;
      const page: ListPage = await this.#storage.list({ ...query, tags, limit: atOnce.purgePage, cursor });
      yield page.runs;
      cursor = page.next;
    }
  }

  /** The runs of a page that are to go. Filters the list again, because a storage may not know a filter. */
  async #selected(page: readonly RunHead[]): Promise<RunHead[]> {
    const { endedBefore, keep } = this.#settings;
    const old = page.filter((head) => this.#matches(head) && head.updatedAt < endedBefore);
    const parents = new Map<string, Promise<boolean>>();
    const roots = await this.#filter(old, async (head) => !(await this.#hasParent(head, parents)));
    if (keep === undefined) return roots;
    const selected: RunHead[] = [];
    for (const head of roots) if (!(await this.#keptOf(head)).has(head.runId)) selected.push(head);
    return selected;
  }

  #matches(head: RunHead): boolean {
    const { statuses, workflow, tags } = this.#settings;
    return (
      (statuses as readonly string[]).includes(head.status) &&
      (workflow === undefined || [workflow].flat().includes(head.workflow)) &&
      isFound(head, { tags })
    );
  }

  /** The newest runs of the workflow of a run, by id. Runs of evals count apart: an eval makes many forks at once. */
  async #keptOf({ workflow, eval: made }: RunHead): Promise<ReadonlySet<string>> {
    const isOfEval = made !== undefined;
    const place = `${isOfEval} ${workflow}`;
    const known = this.#kept.get(place);
    if (known !== undefined) return known;
    const { keep = 0, statuses } = this.#settings;
    const found: RunHead[] = [];
    for (const status of keep === 0 ? [] : statuses) {
      let left = keep;
      for await (const page of this.#pages({ status, workflow })) {
        const matching = page.filter((head) => this.#matches(head) && (head.eval !== undefined) === isOfEval);
        const roots = await this.#filter(matching, async (head) => !(await this.#isChild(head)));
        found.push(...roots.slice(0, left));
        left -= roots.length;
        if (left <= 0) break;
      }
    }
    const newest = found.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, keep);
    const kept = new Set(newest.map(({ runId }) => runId));
    this.#kept.set(place, kept);
    return kept;
  }

  async #filter(heads: readonly RunHead[], test: (head: RunHead) => Promise<boolean>): Promise<RunHead[]> {
    const found: RunHead[] = [];
    for (let from = 0; from < heads.length; from += atOnce.purgeReads) {
      const some = heads.slice(from, from + atOnce.purgeReads);
      const passed = await Promise.all(some.map(test));
      found.push(...some.filter((_, i) => passed[i]));
    }
    return found;
  }

  /** A fork has a parent as well, and so has a run that was spawned. Only the journal says which it is. */
  async #isChild({ parent, ancestors, locator }: RunHead): Promise<boolean> {
    if (parent === null || ancestors.length > 0) return false;
    const journal = await RunJournal.open(locator, await this.#host.journals(), noWait);
    return journal?.childOf !== undefined;
  }

  /** True for a child whose parent exists. `parents` has what is known about some. */
  async #hasParent(head: RunHead, parents: Map<string, Promise<boolean>>): Promise<boolean> {
    const { parent, ancestors } = head;
    if (parent === null || ancestors.length > 0) return false;
    const exists = parents.get(parent) ?? this.#exists(parent);
    parents.set(parent, exists);
    return (await exists) && (await this.#isChild(head));
  }

  async #exists(runId: string): Promise<boolean> {
    const { length, deleted } = await this.#storage.read(locatorOf(runId), beyondEnd);
    return length > 0 && deleted !== true;
  }

  async #delete(batch: readonly RunHead[]): Promise<void> {
    const { limit = Infinity, dryRun } = this.#settings;
    const roots = batch.slice(0, limit - this.#runs);
    const families = await this.#families(roots);
    const heads = families.flat();
    const isRoot = new Set(roots.map(({ locator }) => locator));
    for (let from = 0; from < heads.length; from += atOnce.purged) {
      const some = heads.slice(from, from + atOnce.purged);
      const deleted = new Set(
        dryRun === true ? some.map(({ locator }) => locator) : await this.#deleteUnchanged(some),
      );
      for (const { locator, workflow } of some) {
        if (!isRoot.has(locator)) this.#children += deleted.has(locator) ? 1 : 0;
        else if (!deleted.has(locator)) this.#left += 1;
        else {
          this.#runs += 1;
          this.#byWorkflow.set(workflow, (this.#byWorkflow.get(workflow) ?? 0) + 1);
        }
      }
    }
  }

  /** The families of these runs, except those with a run that has not ended. */
  async #families(roots: readonly RunHead[]): Promise<Family[]> {
    const below = new Map<string, RunHead[]>();
    const seen = new Set(roots.map(({ locator }) => locator));
    for (let level = roots; level.length > 0;) {
      const children = (await this.#childrenOf(level)).filter(({ locator }) => !seen.has(locator));
      for (const child of children) {
        seen.add(child.locator);
        const siblings = below.get(child.parent as string);
        if (siblings === undefined) below.set(child.parent as string, [child]);
        else siblings.push(child);
      }
      level = children;
    }
    const familyOf = (head: RunHead): RunHead[] => [...(below.get(head.runId) ?? []).flatMap(familyOf), head];
    return roots.map(familyOf).filter((family) => {
      const isOver = family.every(hasEnded);
      if (!isOver) this.#left += 1;
      return isOver;
    });
  }

  async #childrenOf(parents: readonly RunHead[]): Promise<RunHead[]> {
    const heads: RunHead[] = [];
    const parent = parents.map(({ runId }) => runId);
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: ListPage = await this.#storage.list({ parent, limit: atOnce.listed, cursor });
      heads.push(...page.runs);
      cursor = page.next;
    }
    return this.#filter(heads, (head) => this.#isChild(head));
  }

  async #deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    if (this.#storage.deleteUnchanged !== undefined) return this.#storage.deleteUnchanged(heads);
    const deleted: string[] = [];
    for (const head of heads) {
      const journal = await RunJournal.open(head.locator, await this.#host.journals(), noWait);
      if (journal === null || !isUnchanged({ ...head, ...journal.state.summary }, head)) continue;
      await this.#storage.delete(head.locator);
      deleted.push(head.locator);
    }
    return deleted;
  }
}

/** Matches no batch, so that the journal decodes only its first entry. */
const noWait = "\0";

/** How a run has ended. */
export type EndStatus = (typeof endStatuses)[number];

/** Options of `app.purge`: which runs to delete. `olderThan` or `keep` is needed. */
export interface PurgeOptions {
  /** Only runs that ended like this, or in one of these ways; completed ones by default. */
  readonly status?: EndStatus | readonly EndStatus[] | undefined;
  /** Only runs that ended this long ago, or longer. */
  readonly olderThan?: Duration | undefined;
  /** Keeps this many runs of each workflow, those of evals apart: the newest of those that `status` and `tags` select. */
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
