/** What storages share: page sizes, cursors, and the errors that every storage reports. */

import { DurableError, show } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import type { StoredSchedule, StoredScheduleQuery } from "./schedules.ts";
import type {
  BlockedNote,
  DuringQuery,
  ListQuery,
  NamedBlob,
  RunDuring,
  RunFlow,
  RunHead,
} from "./storage.ts";

export { FairTurns } from "./fair-turns.ts";

/** Runs per page: what was asked for, within the limit; 100 by default. */
export function pageSize(limit = 100): number {
  return Math.max(0, Math.min(Math.floor(limit) || 0, limits.listPage));
}

/** A position beyond the last batch of any journal: a read from there gets the head and the length alone. */
export const beyondEnd = 2 ** 31 - 1;

/** The workflows that a query asks for, each once; `null` for all. */
export function workflowsOf({ workflow }: ListQuery): readonly string[] | null {
  return workflow === undefined ? null : [...new Set([workflow].flat())];
}

/** The parents that a query asks for, each once; `null` for runs with any parent or none. */
export function parentsOf({ parent }: ListQuery): readonly string[] | null {
  return parent === undefined ? null : [...new Set([parent].flat())];
}

/** The versions that a query asks for, each once; `null` for all. */
export function versionsOf({ version }: Pick<ListQuery, "version">): readonly string[] | null {
  return version === undefined ? null : [...new Set([version].flat())];
}

/** The tags that a query asks for, by name. */
export function tagsOf({ tags = {} }: ListQuery): readonly (readonly [name: string, value: string])[] {
  return Object.entries(tags);
}

/** True when a head fits the filters by tags, version, time of creation and text. */
export function isFound(head: RunHead, query: ListQuery): boolean {
  const { createdAfter = -Infinity, createdBefore = Infinity, q } = query;
  const { runId, label, tags = {}, version, createdAt } = head;
  return (
    createdAt >= createdAfter &&
    createdAt < createdBefore &&
    (versionsOf(query)?.includes(version as string) ?? true) &&
    tagsOf(query).every(([name, value]) => Object.hasOwn(tags, name) && tags[name] === value) &&
    (q === undefined || [runId, label ?? "", ...Object.values(tags)].some((text) => text.startsWith(q)))
  );
}

/** Rows that have the text of a search, up to which a list sorts them. Where more have it, `searched` reads the list instead. */
export const mostMatches = 10_000;
/** Rows that one page of `searched` reads: in all, and at a time. */
const [mostLooked, lookedAtOnce] = [10_000, 1_000];

/** A row of a list, as a search for a text sees it. */
export interface SearchedRow {
  readonly runId: string;
  readonly label: string | null;
  /** As JSON. */
  readonly tags: string | null;
}

/** How a storage reads the rows of a list. */
export interface SearchedList<Row> {
  /** At most `limit` rows of a query that has no `q`. */
  readonly rows: (query: ListQuery, limit: number) => Promise<readonly Row[]>;
  readonly textsOf: (row: Row) => SearchedRow;
  readonly cursorOf: (row: Row) => string;
}

/**
 * A page of a list by a text that very many runs have, without finding all of them: reads the list in its order, and stops
 * after a number of rows.
 */
export async function searched<Row>(
  { q = "", ...query }: ListQuery,
  { rows: read, textsOf, cursorOf }: SearchedList<Row>,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null; readonly partial?: true }> {
  const limit = pageSize(query.limit);
  const found: Row[] = [];
  let { cursor } = query;
  for (let looked = 0, size = 2 * limit; looked < mostLooked; size *= 2) {
    const most = Math.min(size, lookedAtOnce, mostLooked - looked);
    const rows = await read({ ...query, cursor }, most);
    for (const row of rows) {
      if (!hasText(textsOf(row), q)) continue;
      if (found.length === limit) return { rows: found, next: cursorOf(found.at(-1) as Row) };
      found.push(row);
    }
    if (rows.length < most) return { rows: found, next: null };
    looked += rows.length;
    cursor = cursorOf(rows.at(-1) as Row);
  }
  return { rows: found, next: cursor ?? null, partial: true };
}

function hasText({ runId, label, tags }: SearchedRow, q: string): boolean {
  if (runId.startsWith(q) || label?.startsWith(q) === true) return true;
  try {
    return Object.values(JSON.parse(tags ?? "{}") as object).some((value) => String(value).startsWith(q));
  } catch {
    // The row is damaged.
    return false;
  }
}

/** The first text, in the order of UTF-8, after all texts that begin with a prefix: for searches in an index. */
export function afterPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

/** At most `limit` items, one of each list in turn. The first turn is that of list `first`, then of the one after it. */
export function inTurns<T>(lists: readonly (readonly T[])[], limit: number, first: number): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const taken: T[] = [];
  for (let round = 0; round < longest; round++)
    for (let turn = 0; turn < lists.length; turn++) {
      const item = lists[(first + turn) % lists.length]?.[round];
      if (item !== undefined && taken.length < limit) taken.push(item);
    }
  return taken;
}

/** The page of schedules that a query asks for, for storages that have all of them at hand. */
export function scheduleListing(
  schedules: readonly StoredSchedule[],
  { workflow, dueAt, after, limit }: StoredScheduleQuery,
): StoredSchedule[] {
  return schedules
    .filter((each) => workflow?.includes(each.workflow) !== false)
    .filter((each) => dueAt === undefined || (each.dueAt !== null && each.dueAt <= dueAt))
    .filter((each) => dueAt !== undefined || after === undefined || each.name > after)
    .toSorted(
      (a, b) => (dueAt === undefined ? 0 : (a.dueAt ?? 0) - (b.dueAt ?? 0)) || (a.name < b.name ? -1 : 1),
    )
    .slice(0, pageSize(limit));
}

/** The head of a run as lists show it: a note replaces the recorded status. */
export function noted(head: RunHead, note: BlockedNote | null): RunHead {
  return note === null ? head : { ...head, status: "blocked", blocked: note };
}

/**
 * The head of a run whose row cannot be read, as lists show it: `blocked` as `corrupt`, so that the others are listed on. Of its
 * row, only what names the run and places it is believed.
 */
export function damagedHead(
  row: Pick<RunHead, "locator" | "runId" | "workflow" | "createdAt" | "updatedAt">,
  message: string,
): RunHead {
  // What a date can be.
  const [createdAt = 0, since = 0] = [row.createdAt, row.updatedAt].map((at) =>
    at >= 0 && at <= 8.64e15 ? at : 0,
  );
  const { locator, runId, workflow } = row;
  const nothing = { wakeAt: null, dueSince: null, steps: 0, label: null, parent: null, ancestors: [] };
  const head = { locator, runId, workflow, status: "blocked" as const, createdAt, updatedAt: since };
  return { ...head, ...nothing, blocked: { code: "corrupt", message, since, length: 0 } };
}

/** The head of a run with the report that it has, from this append or an earlier one. */
export function keepReport(head: RunHead, report: unknown): RunHead {
  return report === undefined ? head : { ...head, report };
}

/** The place of a run among due runs. A priority moves it this many seconds earlier. `null` for one that is never due. */
export function dueOrder({ dueSince, flow }: Pick<RunHead, "dueSince" | "flow">): number | null {
  return dueSince === null ? null : dueSince - 1_000 * (flow?.priority ?? 0);
}

/** The time since when a run is due, from its place in the order. */
export function dueSinceOf(order: number | null, flow: RunFlow | undefined): number | null {
  return order === null ? null : order + 1_000 * (flow?.priority ?? 0);
}

/** Later than any time: the place of waits that do not expire. */
const never = 8_640_000_000_000_000;

/** The place of a run among those with open waits; `null` for one that has none. */
export function waitsUntil({ waits }: Pick<RunHead, "waits">): number | null {
  return waits === undefined ? null : (waits.expiresAt ?? never);
}

const marked = ["waits", "mark", "error", "usage", "inherited", "scope", "eval", "scores"] as const;

/** What a head says and no query asks for: a storage keeps it as one text. `null` when it says nothing of it. */
export function marksText(head: RunHead): string | null {
  const marks = marksIn(head);
  return marks === null ? null : JSON.stringify(marks);
}

function marksIn(head: RunHead): object | null {
  const said = marked.filter((name) => head[name] !== undefined);
  return said.length === 0 ? null : Object.fromEntries(said.map((name) => [name, head[name]]));
}

/** True when two heads of a run say the same there. Most say nothing, or only one of them does. */
export function hasSameMarks(a: RunHead, b: RunHead): boolean {
  const [before, after] = [marksIn(a), marksIn(b)];
  return before === null || after === null
    ? before === after
    : JSON.stringify(before) === JSON.stringify(after);
}

/** The same as fields of a head. */
export function readMarks(text: string | null): Pick<RunHead, (typeof marked)[number]> {
  const marks = text === null ? {} : (JSON.parse(text) as Pick<RunHead, (typeof marked)[number]>);
  if (!areUsed(marks)) throw new TypeError("The usage of a head is not a list");
  return marks;
}

/** False for a head that says what was used in another shape than a list: it is damaged. */
export function areUsed(head: Pick<RunHead, "usage" | "inherited"> | null): boolean {
  return head !== null && Array.isArray(head.usage ?? []) && Array.isArray(head.inherited ?? []);
}

/** What `during` shows of a head. */
export function duringOf(head: RunHead): RunDuring {
  const { runId, workflow, status, createdAt, updatedAt, steps } = head;
  const { tags, version, usage, inherited, error, eval: made } = head;
  return {
    runId,
    workflow,
    status,
    createdAt,
    updatedAt,
    steps,
    ...(tags !== undefined && { tags }),
    ...(version !== undefined && { version }),
    ...(usage !== undefined && { usage }),
    ...(inherited !== undefined && { inherited }),
    ...(error !== undefined && { error }),
    ...(made !== undefined && { eval: made }),
  };
}

/** The time of a run that counts for `during`; `null` for one that has not ended, where ends count. */
export function timeDuring(
  { status, createdAt, updatedAt }: Pick<RunHead, "status" | "createdAt" | "updatedAt">,
  { by }: Pick<DuringQuery, "by">,
): number | null {
  if (by === "created") return createdAt;
  return hasEnded({ status }) ? updatedAt : null;
}

/** The statuses of runs that have ended. */
export const endStatuses = ["completed", "failed", "cancelled"] as const;

/** True for a run that has ended. */
export function hasEnded({ status }: Pick<RunHead, "status">): boolean {
  return (endStatuses as readonly string[]).includes(status);
}

/** True when a run has ended, before this time; a query without `endedBefore` asks for any. */
export function endedBefore(head: RunHead, { endedBefore: time }: ListQuery): boolean {
  return time === undefined || (hasEnded(head) && head.updatedAt < time);
}

/** True when a run is as it was when it was listed: the same run, and no batch was added to it. */
export function isUnchanged(now: RunHead, listed: RunHead): boolean {
  return (
    now.status === listed.status && now.createdAt === listed.createdAt && now.updatedAt === listed.updatedAt
  );
}

/** From which position a run reads one of its ancestors. */
export function readsFrom(head: Pick<RunHead, "ancestors" | "readsFrom">, ancestor: string): number {
  return head.readsFrom?.[head.ancestors.indexOf(ancestor)] ?? 0;
}

/** Runs of one millisecond that have places of their own; further ones take those of the next. */
export const placesOfMs = 2_048;
/** Times beyond it have no places. It is in the year 2096. */
const lastTime = 4_000_000_000_000;

/**
 * The place of a new run in the order of creation, for storages that number their runs. Runs may be added in another order: by a
 * copy, or by drivers whose clocks differ. Runs of one millisecond are in the order in which they were added. `last` gives the last
 * place that is taken from one number up to another.
 */
export function placeFor(
  createdAt: number,
  last: (from: number, to: number) => number | null | undefined,
): number {
  for (let from = Math.floor(Math.min(lastTime, Math.max(0, createdAt))) * placesOfMs; ; from += placesOfMs) {
    const taken = last(from, from + placesOfMs) ?? from - 1;
    if (taken + 1 < from + placesOfMs) return taken + 1;
  }
}

/** Parses a cursor `wakeAt:id`, for storages that number their runs in the order of creation. */
export function readCursor(cursor: string | null | undefined): readonly number[] | null {
  const parts = cursor?.split(":").map(Number) ?? null;
  if (parts === null || (parts.length === 2 && parts.every(Number.isFinite))) return parts;
  throw new DurableError(
    "invalid-options",
    `${show(cursor)} is not a valid cursor. Pass the \`next\` of the previous page.`,
  );
}

/** The error of an append that came too late: another writer was first, or the run was deleted. */
export function conflict(runId: string, position: number, deleted = false): DurableError {
  const why = deleted
    ? `Run ${runId}, or a run that it reads, was deleted. Choose another id.`
    : `Run ${runId} no longer has ${position} batches: another writer appended first. Read it again.`;
  return new DurableError("conflict", why, { details: { runId, deleted } });
}

/** The error of a run that begins or goes on, while its singleton belongs to another run that has not ended. */
export function singletonConflict(runId: string, other: string): DurableError {
  return new DurableError(
    "conflict",
    `Run ${runId} cannot begin or go on: run ${other} has the same singleton key and has not ended. Wait for its end, or cancel it.`,
    { details: { runId, deleted: false, singleton: other } },
  );
}

/** The error of a new fork that reads batches which its ancestor no longer has. */
export function droppedConflict(runId: string): DurableError {
  return new DurableError(
    "conflict",
    `Run ${runId} reads batches that its ancestor has dropped. Fork from a later position.`,
    { details: { deleted: true } },
  );
}

/** The error of `dropChapters` while a fork reads a batch that would be removed. */
export function stillRead(runId: string, before: number): DurableError {
  return new DurableError(
    "conflict",
    `Cannot drop the batches before ${before} of run ${runId}: a fork reads them. Delete the fork first.`,
    { details: { deleted: false } },
  );
}

/** The error of `dropChapters` for a position at which no chapter begins. */
export function noChapter(runId: string, before: number): DurableError {
  return new DurableError(
    "invalid-options",
    `No chapter of run ${runId} begins at position ${before}. Pass the position of a batch that begins a chapter.`,
  );
}

/** Why a storage that `has` some blobs must refuse an append that names these; null when it need not. */
export function refuseBlobs(
  runId: string,
  blobs: readonly NamedBlob[],
  has: (name: string) => boolean,
): DurableError | null {
  const comes = (name: string): boolean =>
    blobs.some((blob) => blob.name === name && blob.body !== undefined) || has(name);
  const refusal = (name: string, why: string): DurableError =>
    new DurableError("storage-failed", `Blob ${show(name)} of run ${runId} ${why}.`, {
      details: { blob: name },
    });
  for (const { name, body } of blobs) {
    // UTF-8 cannot represent half of a pair, so a disk would store other content under the name.
    if (!name.isWellFormed() || body?.isWellFormed() === false)
      return refusal(name, "contains half of a surrogate pair. Encode such a text as JSON first");
    if (body === undefined && !comes(name))
      return refusal(
        name,
        "was sent without its body, and this storage does not have it. Append it with its body",
      );
  }
  return null;
}
