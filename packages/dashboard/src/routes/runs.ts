/**
 * Lists of runs, a page at a time. Proven in test/server.test.ts.
 *
 * runs.1. Runs that need attention come first: blocked, failed, then those under way, then the rest, each newest first.
 * runs.2. A request reads a bounded number of heads. A search that finds too few gives what it has and a cursor.
 */

import type { ListedRun, ListPage, RunStatus } from "@durable/core";
import {
  type Doing,
  listedRuns,
  type RunSearch,
  runSearch,
  storageOf,
  underWay,
} from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import { allow, type Call, json, readable, runIdOf } from "@durable/http/kit";
import type { Counts, RunItem, RunList } from "../api.ts";
import type { Service } from "../options.ts";
import { describe } from "../text.ts";
import { listIn, numberIn } from "./request.ts";

const statuses: readonly RunStatus[] = [
  "blocked",
  "failed",
  "suspended",
  "paused",
  "running",
  "completed",
  "cancelled",
];
const urgent: readonly RunStatus[] = statuses.slice(0, 5);

/** How many heads one request reads at most, when it searches. */
const mostScanned = 5_000;
const scanPage = 500;

/** How many runs one request reads again by their ids. */
const mostNamed = 60;

/** A part of the list: runs of one status, or all, of which some are left out. */
interface Segment {
  readonly status: RunStatus | undefined;
  readonly leaves: (head: ListedRun) => boolean;
}

/** What the query searches for; a search that is not understood is refused. */
async function searchIn({ app, prices }: Service, url: URL): Promise<RunSearch> {
  const terms = Object.fromEntries([...url.searchParams].filter(([, value]) => value !== ""));
  const { finds = false } = await storageOf(app);
  const search = runSearch(terms, { now: app.world.now(), prices, finds });
  if (search.problems.length > 0) throw new HttpError("invalid-query", search.problems.join(" "));
  return search;
}

export async function listRuns(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const limit = numberIn(url, "limit", { min: 1, max: 200, or: 50 });
  const search = await searchIn(service, url);
  const { workflow, parent, tags } = search.query;
  for (const one of [workflow ?? [undefined]].flat())
    for (const runId of [parent ?? [undefined]].flat())
      await allow(service, request, {
        type: "list",
        ...(one === undefined ? {} : { workflow: one }),
        ...(runId === undefined ? {} : { runId: runIdOf(runId) }),
        ...(tags === undefined ? {} : { tags }),
      });
  const named = listIn(url, "ids").slice(0, mostNamed);
  if (named.length > 0) {
    const heads = (await listedRuns(app, named)).filter((head) => search.fits(head));
    return reply(service, await readable(service, request, heads), null);
  }
  const segments = segmentsOf(search, url.searchParams.get("order") === "newest");
  let { index, inner } = readCursor(url.searchParams.get("cursor"), segments.length);
  const found: ListedRun[] = [];
  for (let scanned = 0; index < segments.length && found.length < limit && scanned < mostScanned;) {
    const { status, leaves } = segments[index] as Segment;
    const page: ListPage<ListedRun> = await app.list({
      ...search.query,
      status,
      limit: search.scans ? scanPage : limit - found.length,
      cursor: inner,
    });
    scanned += Math.max(1, page.runs.length);
    const shown = page.runs.filter((head) => !leaves(head) && search.fits(head));
    found.push(...(await readable(service, request, shown)));
    inner = page.next;
    if (inner === null) index += 1;
  }
  return reply(service, found, index < segments.length ? `${index}.${inner ?? ""}` : null);
}

async function reply({ app }: Service, heads: readonly ListedRun[], next: string | null): Promise<Response> {
  const doing = await underWay(app);
  const runs = heads.map((head) => itemOf(head, doing.get(head.runId)));
  return json(200, { runs, next } satisfies RunList);
}

const none = (): boolean => false;

function segmentsOf({ statuses: asked }: RunSearch, isNewest: boolean): Segment[] {
  if (asked.length > 0 && (!isNewest || asked.length === 1))
    return statuses.filter((status) => asked.includes(status)).map((status) => ({ status, leaves: none }));
  if (isNewest) return [{ status: undefined, leaves: none }];
  const rest = { status: undefined, leaves: (head: ListedRun) => urgent.includes(head.status) };
  return [...urgent.map((status): Segment => ({ status, leaves: none })), rest];
}

function readCursor(cursor: string | null, segments: number): { index: number; inner: string | null } {
  if (cursor === null || cursor === "") return { index: 0, inner: null };
  const found = /^(\d)\.(.*)$/s.exec(cursor);
  const index = Number(found?.[1]);
  if (found === null || index >= segments)
    throw new HttpError("invalid-query", "The cursor is not one of this list.");
  return { index, inner: found[2] === "" ? null : (found[2] ?? null) };
}

export function itemOf(head: ListedRun, doing?: readonly Doing[]): RunItem {
  const { runId, workflow, status, state, wakeAt, createdAt, updatedAt, steps, label, parent, blocked } =
    head;
  const isFork = parent !== null && head.ancestors.length > 0;
  const { tags, report, waits } = head;
  return {
    runId,
    workflow,
    status,
    state,
    wakeAt,
    createdAt,
    updatedAt,
    steps,
    label,
    parent,
    isFork,
    ...(waits === undefined ? {} : { waits }),
    ...(blocked === undefined ? {} : { blocked }),
    ...(doing === undefined ? {} : { doing: doing.map(({ key, since }) => ({ key, since })) }),
    ...(tags === undefined ? {} : { tags }),
    ...(report === undefined ? {} : { report: describe(report) }),
  };
}

/** More than this many runs of a status are not counted. */
const mostCounted = 500;

/** How many runs have each status. Counting all of 100,000 runs would read them all, so it stops early. */
export async function countRuns({ app }: Service): Promise<Response> {
  const counts = await Promise.all(
    statuses.map(async (status) => {
      const { runs, next } = await app.list({ status, limit: mostCounted });
      return [status, { count: runs.length, more: next !== null }] as const;
    }),
  );
  return json(200, Object.fromEntries(counts) satisfies Partial<Counts>);
}
