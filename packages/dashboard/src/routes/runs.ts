/**
 * Lists of runs, a page at a time. Proven in test/server.test.ts.
 *
 * runs.1. The newest come first. Sorted by what they took or cost, those that began in the time of the search are sorted.
 * runs.2. A request reads a bounded number of heads, and no journal. A search that finds too few gives what it has and a cursor.
 */

import type { ListedRun, ListPage, RunStatus } from "@durable/core";
import {
  costIn,
  type Doing,
  isEncrypted,
  listedOfTrace,
  listedRuns,
  type RunSearch,
  runSearch,
  spendOf,
  storageOf,
  suggestSearch,
  underWay,
} from "@durable/core/inspect";
import type { RunDuring } from "@durable/core/storage";
import { HttpError } from "@durable/http";
import { allow, type Call, json, readable, runIdOf } from "@durable/http/kit";
import type { Counts, RunItem, RunList } from "../api.ts";
import type { Service } from "../options.ts";
import { describe } from "../text.ts";
import { failedAlike } from "./failures.ts";
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

/** How many heads one request reads at most, when it searches. */
const mostScanned = 5_000;
const scanPage = 500;

/** How many runs one request reads again by their ids. */
const mostNamed = 60;

/** A search that is longer is no longer completed. */
const longestSearch = 1_000;

/** How a search that is being typed may go on, from runs that may be read. */
export async function suggest(service: Service, { request, url }: Call): Promise<Response> {
  const text = (url.searchParams.get("text") ?? "").slice(0, longestSearch);
  return json(200, await suggestSearch(service.app, text, (heads) => readable(service, request, heads)));
}

/** What the query searches for; a search that is not understood is refused. */
async function searchIn({ app, prices }: Service, url: URL): Promise<RunSearch> {
  const terms = Object.fromEntries([...url.searchParams].filter(([, value]) => value !== ""));
  const { finds = false } = await storageOf(app);
  const search = runSearch(terms, {
    now: app.world.now(),
    prices,
    finds,
    encrypted: isEncrypted(app),
  });
  if (search.problems.length > 0) throw new HttpError("invalid-query", search.problems.join(" "));
  return search;
}

/** Each workflow and each parent that a search names is asked for. */
async function allowSearch(service: Service, request: Request, { query }: RunSearch): Promise<void> {
  const { workflow, parent, tags } = query;
  for (const one of [workflow ?? [undefined]].flat())
    for (const runId of [parent ?? [undefined]].flat())
      await allow(service, request, {
        type: "list",
        ...(one === undefined ? {} : { workflow: one }),
        ...(runId === undefined ? {} : { runId: runIdOf(runId) }),
        ...(tags === undefined ? {} : { tags }),
      });
}

export async function listRuns(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const limit = numberIn(url, "limit", { min: 1, max: 200, or: 50 });
  const search = await searchIn(service, url);
  await allowSearch(service, request, search);
  const failed = await failedAlike(service, { request, url });
  const named = listIn(url, "ids").slice(0, mostNamed);
  if (named.length > 0) {
    const wanted = failed === null ? named : named.filter((runId) => failed.includes(runId));
    const heads = (await listedRuns(app, wanted)).filter((head) => search.fits(head));
    return reply(service, await readable(service, request, heads), null);
  }
  const traced = await listedOfTrace(app, url.searchParams.get("text") ?? "");
  if (traced.length > 0) {
    const heads = traced.filter((head) => search.fits(head));
    return reply(service, await readable(service, request, heads), null);
  }
  const sort = url.searchParams.get("sort") ?? "";
  const asked = { search, limit, cursor: url.searchParams.get("cursor") || null };
  if (failed !== null) return pageOf(service, request, { ...asked, runIds: failed });
  if (sort !== "") return sortedRuns(service, request, { ...asked, sort });
  const [status] = search.statuses;
  const isOne = search.statuses.length === 1;
  const found: ListedRun[] = [];
  let { cursor } = asked;
  for (let scanned = 0; found.length < limit && scanned < mostScanned;) {
    const page: ListPage<ListedRun> = await app.list({
      ...search.query,
      status: isOne ? status : undefined,
      limit: search.scans || search.statuses.length > 1 ? scanPage : limit - found.length,
      cursor,
    });
    scanned += Math.max(1, page.runs.length);
    const shown = page.runs.filter((head) => search.fits(head));
    found.push(...(await readable(service, request, shown)));
    cursor = page.next;
    if (cursor === null) break;
  }
  return reply(service, found, cursor);
}

async function reply(
  service: Service,
  heads: readonly ListedRun[],
  next: string | null,
  rest: Pick<RunList, "sorted"> = {},
): Promise<Response> {
  const doing = await underWay(service.app);
  const runs = heads.map((head) => itemOf(service, head, doing.get(head.runId)));
  return json(200, { runs, next, ...rest } satisfies RunList);
}

interface Sorted {
  readonly search: RunSearch;
  readonly limit: number;
  readonly cursor: string | null;
  readonly sort: string;
}

/** Runs that are sorted: the newest of the time of the search. */
const mostSorted = 20_000;
/** Heads that one page of a sorted list reads. */
const mostRead = 1_000;

/** By a figure, the largest first. */
async function sortedRuns(
  service: Service,
  request: Request,
  { search, limit, cursor, sort }: Sorted,
): Promise<Response> {
  const { app, prices } = service;
  const storage = await storageOf(app);
  const now = app.world.now();
  const sorts: Readonly<Record<string, (run: RunDuring) => number>> = {
    took: (run) => (isOpen(run) ? now : run.updatedAt) - run.createdAt,
    cost: (run) => costIn(run, prices) ?? 0,
    steps: ({ steps }) => steps,
  };
  const by = Object.hasOwn(sorts, sort) ? sorts[sort] : undefined;
  if (by === undefined || storage.during === undefined)
    throw new HttpError(
      "invalid-query",
      by === undefined
        ? `"sort" must be one of ${Object.keys(sorts).join(", ")}.`
        : "This storage cannot sort runs.",
    );
  const { createdAfter: after = 0, createdBefore: before = Infinity, workflow } = search.query;
  const names = workflow === undefined ? null : [workflow].flat();
  const all = await storage.during({ by: "created", after, before, limit: mostSorted + 1 });
  const isCut = all.length > mostSorted;
  const sorted = all
    .slice(0, mostSorted)
    .filter((run) => names === null || names.includes(run.workflow))
    .map((run) => [run.runId, by(run)] as const)
    .toSorted(([, a], [, b]) => b - a)
    .map(([runId]) => runId);
  const asked = { search, limit, cursor, runIds: sorted };
  return pageOf(service, request, asked, isCut ? { sorted: mostSorted } : {});
}

interface Ordered extends Omit<Sorted, "sort"> {
  readonly runIds: readonly string[];
}

/** A page of runs whose order is known. */
async function pageOf(
  service: Service,
  request: Request,
  { search, limit, cursor, runIds }: Ordered,
  rest: Pick<RunList, "sorted"> = {},
): Promise<Response> {
  const found: ListedRun[] = [];
  let at = Math.max(0, Math.floor(Number(cursor ?? 0)) || 0);
  for (const end = at + mostRead; at < Math.min(runIds.length, end) && found.length < limit;) {
    const next = runIds.slice(at, at + limit - found.length);
    at += next.length;
    const heads = (await listedRuns(service.app, next)).filter((head) => search.fits(head));
    found.push(...(await readable(service, request, heads)));
  }
  return reply(service, found, at < runIds.length ? String(at) : null, rest);
}

const isOpen = ({ status }: RunDuring): boolean =>
  status !== "completed" && status !== "failed" && status !== "cancelled";

export function itemOf(
  { prices }: Pick<Service, "prices">,
  head: ListedRun,
  doing?: readonly Doing[],
): RunItem {
  const { runId, workflow, status, state, wakeAt, createdAt, updatedAt, steps, label, parent, blocked } =
    head;
  const isFork = parent !== null && head.ancestors.length > 0;
  const { tags, report, waits, version, error, usage = [], inherited = [] } = head;
  const saved = spendOf(inherited, prices).cost ?? 0;
  const tokens = usage.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0);
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
    ...(doing === undefined
      ? {}
      : {
          doing: doing.map(({ key, attempt, since, words }) => ({
            key,
            attempt,
            since,
            ...(words !== undefined && { words }),
          })),
        }),
    ...(usage.length === 0 ? {} : { cost: costIn(head, prices), tokens }),
    ...(saved === 0 ? {} : { saved }),
    ...(version === undefined ? {} : { version }),
    ...(error === undefined ? {} : { error }),
    ...(tags === undefined ? {} : { tags }),
    ...(head.scores === undefined ? {} : { scores: head.scores }),
    ...(report === undefined ? {} : { report: describe(report) }),
  };
}

/** More than this many runs of a status are not counted. */
const mostCounted = 500;

const waitingRuns = ["waiting", { waiting: true }] as const;

/** How many runs have each status, and an open wait. Counting all of 100,000 runs would read them all, so it stops early. */
export async function countRuns({ app }: Service): Promise<Response> {
  const asked = [...statuses.map((status) => [status, { status }] as const), waitingRuns];
  const counts = await Promise.all(
    asked.map(async ([name, query]) => {
      const { runs, next } = await app.list({ ...query, limit: mostCounted });
      const count = runs.filter(({ state }) => state !== "open").length;
      return [name, { count, more: next !== null }] as const;
    }),
  );
  return json(200, Object.fromEntries(counts) satisfies Partial<Counts>);
}
