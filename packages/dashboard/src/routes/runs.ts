/**
 * Lists of runs, a page at a time. Proven in test/server.test.ts.
 *
 * runs.1. Runs that need attention come first: blocked, failed, then those under way, then the rest, each newest first.
 * runs.2. A request reads a bounded number of heads. A search that finds too few gives what it has and a cursor.
 */

import type { ListedRun, ListPage, RunStatus } from "@durable/core";
import { type Doing, underWay } from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import { allow, type Call, json, readable, runIdOf } from "@durable/http/kit";
import type { Counts, RunItem, RunList } from "../api.ts";
import type { Service } from "../options.ts";
import { describe } from "../text.ts";
import { listIn, numberIn, tagsIn } from "./request.ts";

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

/** A part of the list: runs of one status, or all, of which some are left out. */
interface Segment {
  readonly status: RunStatus | undefined;
  readonly leaves: (head: ListedRun) => boolean;
}

export async function listRuns(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const limit = numberIn(url, "limit", { min: 1, max: 200, or: 50 });
  const workflow = listIn(url, "workflow");
  const parent = url.searchParams.get("parent") ?? "";
  const text = (url.searchParams.get("text") ?? "").toLowerCase();
  const tags = tagsIn(url);
  for (const one of workflow.length === 0 ? [undefined] : workflow)
    await allow(service, request, {
      type: "list",
      ...(one === undefined ? {} : { workflow: one }),
      ...(parent === "" ? {} : { runId: runIdOf(parent) }),
      ...(tags === undefined ? {} : { tags }),
    });
  const segments = segmentsOf(url);
  let { index, inner } = readCursor(url.searchParams.get("cursor"), segments.length);
  const found: ListedRun[] = [];
  for (let scanned = 0; index < segments.length && found.length < limit && scanned < mostScanned;) {
    const { status, leaves } = segments[index] as Segment;
    const page: ListPage<ListedRun> = await app.list({
      ...(workflow.length === 0 ? {} : { workflow }),
      ...(parent === "" ? {} : { parent }),
      tags,
      status,
      limit: text === "" ? limit - found.length : scanPage,
      cursor: inner,
    });
    scanned += Math.max(1, page.runs.length);
    const shown = page.runs.filter((head) => !leaves(head) && matches(head, text));
    found.push(...(await readable(service, request, shown)));
    inner = page.next;
    if (inner === null) index += 1;
  }
  const next = index < segments.length ? `${index}.${inner ?? ""}` : null;
  const doing = await underWay(app);
  const runs = found.map((head) => itemOf(head, doing.get(head.runId)));
  return json(200, { runs, next } satisfies RunList);
}

const none = (): boolean => false;

function segmentsOf(url: URL): Segment[] {
  const asked = listIn(url, "status");
  const unknown = asked.find((status) => !statuses.includes(status as RunStatus));
  if (unknown !== undefined) throw new HttpError("invalid-query", `There is no status "${unknown}".`);
  if (url.searchParams.get("order") === "newest" && asked.length !== 1) {
    const leaves = asked.length === 0 ? none : (head: ListedRun) => !asked.includes(head.status);
    return [{ status: undefined, leaves }];
  }
  if (asked.length > 0)
    return statuses.filter((status) => asked.includes(status)).map((status) => ({ status, leaves: none }));
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

function matches({ runId, label, workflow }: ListedRun, text: string): boolean {
  return text === "" || [runId, label ?? "", workflow].some((field) => field.toLowerCase().includes(text));
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
