/** Waits for people, over all runs. Proven in test/actions.test.ts. */

import type { ListPage } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import { type Call, json, readable } from "@durable/http/kit";
import type { Inbox, InboxItem, Unreadable } from "../api.ts";
import type { Service } from "../options.ts";
import { describe } from "../text.ts";
import { numberIn } from "./request.ts";
import { waitOf } from "./run.ts";

/** Open waits, whatever else their runs do. Waits that expire first come first. Runs that cannot be read are named. */
export async function inbox(service: Service, { request, url }: Call): Promise<Response> {
  const { app } = service;
  const limit = numberIn(url, "limit", { min: 1, max: 100, or: 50 });
  const page = await app.list({ waiting: true, limit, cursor: url.searchParams.get("cursor") });
  const unreadable: Unreadable[] = [];
  const items = await Promise.all(
    (await readable(service, request, page.runs)).map(async ({ runId, workflow }): Promise<InboxItem[]> => {
      try {
        const { waits } = viewRun(await app.get(runId).entries());
        return (
          waits
            // Messages are sent by programs; the page of the run can send one.
            .filter(({ answered, topic }) => !answered && topic === undefined)
            .map((wait) => ({ runId, workflow, wait: waitOf(wait) }))
        );
      } catch (error) {
        unreadable.push({ runId, workflow, problem: describe(error) });
        return [];
      }
    }),
  );
  const sorted = items.flat().toSorted((a, b) => (until(a) < until(b) ? -1 : Number(until(a) > until(b))));
  const open = await openWaits(service, request);
  return json(200, { items: sorted, unreadable, open, next: page.next } satisfies Inbox);
}

/** The most runs with open waits that are counted. */
const mostCounted = 2_000;
const countPage = 500;

/** Counts by heads, without reading a journal. */
async function openWaits(service: Service, request: Request): Promise<Inbox["open"]> {
  let count = 0;
  let cursor: string | null = null;
  for (let read = 0; read < mostCounted; read += countPage) {
    const page: ListPage = await service.app.list({ waiting: true, limit: countPage, cursor });
    for (const { waits } of await readable(service, request, page.runs)) count += waits?.count ?? 0;
    cursor = page.next;
    if (cursor === null) break;
  }
  return { count, more: cursor !== null };
}

function until({ wait }: InboxItem): number {
  return wait.expiresAt ?? Infinity;
}
