/**
 * Waits for people, over all runs. Proven in test/inbox.test.ts.
 *
 * inbox.1. The list is read from heads, and counts a bounded number of them: no journal is read but that of the run that is open.
 */

import type { ListedRun, ListPage } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import { type Call, json, readable } from "@durable/http/kit";
import type { Inbox, InboxItem, RunWaits, Unreadable } from "../api.ts";
import type { Service } from "../options.ts";
import { numberIn } from "./request.ts";
import { waitOf } from "./run.ts";

/** The most runs with open waits that are counted or searched. */
const mostCounted = 2_000;
const countPage = 500;
export const soonMs = 24 * 3_600_000;

/** Runs whose waits expire first come first. A search finds words of the question, the id, the label, tags and the workflow. */
export async function inbox(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const limit = numberIn(url, "limit", { min: 1, max: 1_000, or: 50 });
  const cursor = url.searchParams.get("cursor");
  const words = (url.searchParams.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const all = await openRuns(service, request);
  const open = countsOf(all, app.world.now());
  if (words.length > 0) {
    const found = all.heads.filter((head) => words.every((word) => textOf(head).includes(word)));
    const from = Math.max(0, Math.floor(Number(cursor ?? 0)) || 0);
    const end = from + limit;
    const next = end < found.length ? String(end) : null;
    return json(200, { ...itemsOf(found.slice(from, end)), open, next } satisfies Inbox);
  }
  const page = await app.list({ waiting: true, limit, cursor });
  const heads = await readable(service, request, page.runs);
  return json(200, { ...itemsOf(heads), open, next: page.next } satisfies Inbox);
}

export interface OpenRuns {
  readonly heads: readonly ListedRun[];
  readonly more: boolean;
}

/** Heads of runs with open waits, those that expire first at the beginning. */
export async function openRuns(service: Service, request: Request): Promise<OpenRuns> {
  const heads: ListedRun[] = [];
  let cursor: string | null = null;
  for (let read = 0; read < mostCounted; read += countPage) {
    const page: ListPage<ListedRun> = await service.app.list({ waiting: true, limit: countPage, cursor });
    heads.push(...(await readable(service, request, page.runs)));
    cursor = page.next;
    if (cursor === null) break;
  }
  return { heads, more: cursor !== null };
}

/** How many waits they have. */
export function countsOf({ heads, more }: OpenRuns, now: number): Inbox["open"] {
  const until = (time: number): number =>
    heads.reduce(
      (sum, { waits }) => sum + ((waits?.expiresAt ?? Infinity) <= time ? (waits?.count ?? 0) : 0),
      0,
    );
  return { count: until(Infinity), more, late: until(now), soon: until(now + soonMs) - until(now) };
}

function textOf({ runId, workflow, label, waits, tags = {} }: ListedRun): string {
  const named = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return [waits?.question ?? "", runId, workflow, label ?? "", ...named].join("\n").toLowerCase();
}

/** A damaged head may say anything, so it is only named. */
function itemsOf(heads: readonly ListedRun[]): Pick<Inbox, "items" | "unreadable"> {
  const items: InboxItem[] = [];
  const unreadable: Unreadable[] = [];
  for (const { runId, workflow, label, tags = {}, waits, updatedAt, blocked } of heads) {
    if (blocked?.code === "corrupt") unreadable.push({ runId, workflow, problem: blocked.message });
    else
      items.push({
        runId,
        workflow,
        label,
        tags,
        question: waits?.question ?? "",
        count: waits?.count ?? 0,
        since: updatedAt,
        expiresAt: waits?.expiresAt ?? null,
      });
  }
  return { items, unreadable };
}

/** What one run asks people. Messages are sent by programs; the page of the run can send one. */
export async function runWaits({ app }: Service, { runId }: Call): Promise<Response> {
  const { waits, workflow } = viewRun(await app.get(runId).entries());
  const open = waits.filter(({ answered, topic }) => !answered && topic === undefined);
  return json(200, { runId, workflow, waits: open.map((wait) => waitOf(wait)) } satisfies RunWaits);
}
