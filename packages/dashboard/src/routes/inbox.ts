/** Waits for people, over all runs. Proven in test/actions.test.ts. */

import { viewRun } from "@durable/core/inspect";
import { type Call, json } from "@durable/http/kit";
import type { Inbox } from "../api.ts";
import type { Service } from "../options.ts";
import { numberIn } from "./request.ts";
import { waitOf } from "./run.ts";

/** Open waits of parked runs, newest run first. A run that only sleeps has none, so a page may be empty. */
export async function inbox({ app }: Service, { url }: Call): Promise<Response> {
  const limit = numberIn(url, "limit", { min: 1, max: 100, or: 50 });
  const page = await app.list({ status: "suspended", limit, cursor: url.searchParams.get("cursor") });
  const items = await Promise.all(
    page.runs.map(async ({ runId, workflow }) => {
      const { waits } = viewRun(await app.get(runId).entries());
      return (
        waits
          // Messages are sent by programs; the page of the run can send one.
          .filter(({ answered, topic }) => !answered && topic === undefined)
          .map((wait) => ({ runId, workflow, wait: waitOf(wait) }))
      );
    }),
  );
  return json(200, { items: items.flat(), next: page.next } satisfies Inbox);
}
