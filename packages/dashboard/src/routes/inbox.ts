/** Waits for people, over all runs. Proven in test/actions.test.ts. */

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
  return json(200, { items: sorted, unreadable, next: page.next } satisfies Inbox);
}

function until({ wait }: InboxItem): number {
  return wait.expiresAt ?? Infinity;
}
