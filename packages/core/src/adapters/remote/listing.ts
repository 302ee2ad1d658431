/**
 * Lists of runs, from index objects. The index only says which logs to read; the state of a run always comes from its
 * log. So an index that lags or has extra objects costs time, and never gives a wrong result. The keys of index objects
 * have status, times, workflow and parent. Tags, versions and texts are only in the logs, so a list by them reads the last
 * record of every run that fits the rest of the query.
 */

import { DurableError, describeError, show } from "../../values/errors.ts";
import {
  endedBefore,
  endStatuses,
  isFound,
  noted,
  pageSize,
  parentsOf,
  waitsUntil,
  workflowsOf,
} from "../../ports/storage-kit.ts";
import type { ListPage, ListQuery, RunHead, RunStatus } from "../../ports/storage.ts";
import type { Bucket } from "../../ports/bucket.ts";
import type { World } from "../../ports/world.ts";
import {
  hint,
  isPresent,
  newestFirst,
  readMarker,
  statusPrefix,
  timersPrefix,
  timeText,
  type Marker,
} from "./layout.ts";
import type { Logs } from "./logs.ts";
import { indexed, isHeld, noteOf, type State } from "./record.ts";

/** The statuses that are recorded. A run with a note also has an index object of its recorded status. */
const statuses: readonly RunStatus[] = ["running", "suspended", "paused", ...endStatuses];
const lookAhead = 6;

export class Listing {
  readonly #bucket: Bucket;
  readonly #logs: Logs;
  readonly #now: () => number;
  readonly #free: (locator: string) => Promise<void>;
  readonly #warn: (message: string) => void;
  /** Logs that cannot be read, and were reported. */
  readonly #unreadable = new Set<string>();

  /** `free` removes what is left of a run that was deleted. */
  constructor(
    bucket: Bucket,
    logs: Logs,
    { now, warn }: Pick<World, "now" | "warn">,
    free: (locator: string) => Promise<void>,
  ) {
    this.#bucket = bucket;
    this.#logs = logs;
    this.#now = () => now();
    this.#warn = (message) => warn(message);
    this.#free = free;
  }

  async list(query: ListQuery): Promise<ListPage> {
    const { status, endedBefore: time } = query;
    const cursor = query.cursor ?? "";
    if (!/^(|[\d.]+\.[\w-]+)$/.test(cursor)) throw badCursor(cursor);
    if ([workflowsOf(query), parentsOf(query)].some((names) => names?.length === 0))
      return { runs: [], next: null };
    if (query.dueAt !== undefined) return this.#page(await this.#due(query, query.dueAt), query);
    if (query.waiting !== undefined && time === undefined) return this.#waiting(query);
    const wanted = (time === undefined ? statuses : endStatuses).filter((each) => each === (status ?? each));
    const blocked = status === "blocked" && time === undefined ? [status] : [];
    // A run that was created later has not ended before. Its index object need not be read.
    const createdBefore =
      time === undefined ? query.createdBefore : Math.min(time, query.createdBefore ?? Infinity);
    const sources = [...wanted, ...blocked].map((each) =>
      this.#created(statusPrefix(each), { ...query, createdBefore }),
    );
    return this.#page(merged(sources), query);
  }

  /** Reads markers in order until the page is full and it is known whether another page follows. */
  async #page(markers: AsyncIterable<Marker> | Iterable<Marker>, query: ListQuery): Promise<ListPage> {
    const limit = pageSize(query.limit);
    const mayBe = hintsOf(query);
    const found: { readonly head: RunHead; readonly order: string }[] = [];
    const { signal } = query;
    const outdated: string[] = [];
    let ahead: Marker[] = [];
    let seen: string | null = null;
    const readHeads = async (): Promise<void> => {
      const heads = await Promise.all(ahead.map((marker) => this.#readHead(marker, query, outdated)));
      for (const [i, head] of heads.entries())
        if (head !== null) found.push({ head, order: ahead[i]?.order ?? "" });
      seen = ahead.at(-1)?.order ?? seen;
      ahead = [];
    };
    for await (const marker of markers) {
      // At least one run, so that a caller that goes on from `next` comes to an end.
      if (found.length > limit || (seen !== null && signal?.aborted === true)) break;
      if (!mayBe(marker)) continue;
      ahead.push(marker);
      // With a signal one after the other, so that little is under way when it aborts.
      const most = signal === undefined ? lookAhead : 1;
      if (ahead.length >= Math.min(most, limit + 1 - found.length)) await readHeads();
    }
    if (found.length <= limit) await readHeads();
    if (outdated.length > 0) await this.#bucket.delete(outdated).catch(() => {});
    const last = found.length > limit ? found[limit - 1]?.order : signal?.aborted === true ? seen : null;
    return { runs: found.slice(0, limit).map(({ head }) => head), next: last ?? null };
  }

  /**
   * The head of a run, if the marker is for its present state and the run matches the query; otherwise the marker may be
   * `outdated`. A log that cannot be read must not hide all other runs.
   */
  async #readHead(marker: Marker, query: ListQuery, outdated: string[]): Promise<RunHead | null> {
    try {
      return await this.#head(marker, query, outdated);
    } catch (error) {
      const isUnreadable = ["corrupt", "newer-format", "pre-release"].some((code) =>
        DurableError.is(error, code as "corrupt"),
      );
      if (!isUnreadable) throw error;
      const { locator } = marker.place;
      if (!this.#unreadable.has(locator))
        this.#warn(`A run is missing in lists, because its log cannot be read. ${describeError(error)}`);
      this.#unreadable.add(locator);
      return null;
    }
  }

  async #head(marker: Marker, query: ListQuery, outdated: string[]): Promise<RunHead | null> {
    const { key, place } = marker;
    const known = this.#logs.known(place.locator);
    const from = known?.generation === place.generation ? Math.max(known.slot, place.slot) : place.slot;
    const last = (await this.#logs.last({ ...place, slot: from })) ?? (await this.#logs.last(place));
    if (last === null) {
      // A build without chapters that tried to begin this run anew has left it, and cannot list runs while it is there.
      if (await this.#logs.isForward(place)) outdated.push(key);
      return null;
    }
    const { state } = last;
    if (state.deleted || !isPresent(marker, indexed(state))) {
      // The slot that this marker was made for has been written, so the marker is obsolete for good.
      outdated.push(key);
      // The process that deleted the run was interrupted.
      if (state.closed) await this.#free(place.locator).catch(() => {});
      return null;
    }
    const head = { ...noted(state.head, noteOf(state)), driven: isHeld(state, this.#now()) };
    const { status, dueAt, waiting } = query;
    const parents = parentsOf(query);
    const fits =
      workflowsOf(query)?.includes(head.workflow) !== false &&
      (parents === null || (head.parent !== null && parents.includes(head.parent))) &&
      (status === undefined || head.status === status) &&
      endedBefore(head, query) &&
      (waiting === undefined || head.waits !== undefined) &&
      isFound(head, query);
    return fits && (dueAt === undefined || this.#isDue(state, dueAt)) ? head : null;
  }

  #isDue(state: State, dueAt: number): boolean {
    const now = this.#now();
    const { wakeAt } = state.head;
    return wakeAt !== null && wakeAt <= dueAt && state.quietUntil <= now && !isHeld(state, now);
  }

  /** Runs with open waits are found by reading all that have not ended; no index object is made for them. */
  async #waiting(query: ListQuery): Promise<ListPage> {
    const mayBe = hintsOf(query);
    const found: { readonly head: RunHead; readonly order: string }[] = [];
    const { cursor: _, ...all } = query;
    const sources = (["running", "suspended", "paused"] as const).map((status) =>
      this.#created(statusPrefix(status), all),
    );
    const outdated: string[] = [];
    let ahead: Marker[] = [];
    const readHeads = async (): Promise<void> => {
      const heads = await Promise.all(ahead.map((marker) => this.#readHead(marker, query, outdated)));
      for (const head of heads)
        if (head !== null)
          found.push({
            head,
            order: `${timeText(waitsUntil(head) ?? 0)}.${timeText(head.createdAt)}.${head.locator}`,
          });
      ahead = [];
    };
    for await (const marker of merged(sources)) {
      if (mayBe(marker)) ahead.push(marker);
      if (ahead.length >= lookAhead) await readHeads();
    }
    await readHeads();
    if (outdated.length > 0) await this.#bucket.delete(outdated).catch(() => {});
    const rest = found
      .filter(({ order }) => order > (query.cursor ?? ""))
      .toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)));
    const limit = pageSize(query.limit);
    const runs = rest.slice(0, limit);
    return {
      runs: runs.map(({ head }) => head),
      next: rest.length > limit ? (runs.at(-1)?.order ?? null) : null,
    };
  }

  /** Runs that are running, and suspended runs whose time has come; those that are due longest come first. */
  async #due(query: ListQuery, dueAt: number): Promise<Marker[]> {
    const { status, cursor } = query;
    const latest = timeText(dueAt);
    const now = timeText(this.#now());
    const mayBe = hintsOf(query);
    const found: Marker[] = [];
    const gather = async (prefix: string, sorted: boolean): Promise<void> => {
      for await (const marker of this.#markers(prefix)) {
        const { wake, held, key, place } = marker;
        if (held > now) continue;
        // A run that is running is due, whatever the clock of its last writer was.
        if (wake === "-" || (sorted && wake > latest)) {
          if (sorted) return;
        } else if (mayBe(marker)) {
          found.push({ ...marker, order: `${wake}.${createdText(key)}.${place.locator}` });
        }
      }
    };
    const any = status === undefined || status === "blocked";
    if (any || status === "running") await gather(statusPrefix("running"), false);
    if (any || status === "suspended") await gather(timersPrefix, true);
    return found
      .filter(({ order }) => order > (cursor ?? ""))
      .toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)));
  }

  /** Markers after the cursor, newest first, of runs that were created at these times. */
  async *#created(prefix: string, query: ListQuery): AsyncGenerator<Marker> {
    const { cursor, createdAfter, createdBefore } = query;
    // "/" sorts after ".", so this key comes after every key that continues the cursor with a dot.
    const after = cursor ? `${cursor}/` : "";
    const before = createdBefore === undefined ? "" : newestFirst(createdBefore);
    const end = createdAfter === undefined ? null : newestFirst(createdAfter);
    for await (const marker of this.#markers(prefix, after > before ? after : before)) {
      if (end !== null && marker.order.slice(0, end.length) > end) return;
      yield marker;
    }
  }

  async *#markers(prefix: string, after = ""): AsyncGenerator<Marker> {
    for await (const key of keysOf(this.#bucket, prefix, after === "" ? "" : `${prefix}${after}`)) {
      const marker = readMarker(key);
      if (marker !== null) yield marker;
    }
  }
}

/** Every key with a prefix, page by page. */
export async function* keysOf(bucket: Bucket, prefix: string, start = ""): AsyncGenerator<string> {
  let after = start;
  for (let more = true; more;) {
    const page = await bucket.list({ prefix, after });
    for (const key of page.keys) yield (after = key);
    more = page.more;
  }
}

/** When the run of a marker was created, as text that sorts the earliest first. */
function createdText(key: string): string {
  const [, time = ""] = /\/([\d.]+)\./.exec(key) ?? [];
  return key.startsWith(timersPrefix) ? (time.split(".")[1] ?? "") : flipped(time.split(".")[0] ?? "");
}

function flipped(digits: string): string {
  return digits.replaceAll(/\d/g, (digit) => String(9 - Number(digit)));
}

/** Tells from the key of an index object whether its run may match a query. The hashes are made once per query. */
function hintsOf(query: ListQuery): (marker: Marker) => boolean {
  const names = workflowsOf(query);
  const workflows = names === null ? null : new Set(names.map(hint));
  const asked = parentsOf(query);
  const parents = asked === null ? null : new Set(asked.map(hint));
  return ({ workflow, parent }) => workflows?.has(workflow) !== false && parents?.has(parent) !== false;
}

/** Merges several sorted sources into one. */
async function* merged(sources: readonly AsyncGenerator<Marker>[]): AsyncGenerator<Marker> {
  const heads = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    let least = -1;
    for (const [i, { done, value }] of heads.entries()) {
      const best = heads[least]?.value as Marker | undefined;
      if (done !== true && (best === undefined || value.order < best.order)) least = i;
    }
    const source = sources[least];
    if (source === undefined) return;
    yield heads[least]?.value as Marker;
    heads[least] = await source.next();
  }
}

function badCursor(cursor: string): DurableError {
  return new DurableError(
    "invalid-options",
    `${show(cursor)} is not a valid cursor. Pass the \`next\` of the previous page.`,
  );
}
