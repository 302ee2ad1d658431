/** The routes that delete runs: one by its id, or old ones. Proven in test/retention.test.ts. */

import type { PurgeOptions } from "@durable/core";
import type { EndStatus } from "@durable/core/types";
import { readJson } from "./body.ts";
import { HttpError, json } from "./errors.ts";
import { allow, type Service } from "./options.ts";
import { only } from "./replies.ts";
import { countIn, durationIn, flagIn, labelsIn, membersOf, queryOf, textsIn } from "./request-fields.ts";
import type { Call } from "./router.ts";

/** Runs that one request deletes at most, because a client waits for it. `more` in the answer says to ask again. */
const mostRuns = 1_000;

export async function deleteRun({ app }: Service, { url, runId }: Call): Promise<Response> {
  queryOf(url, []);
  await app.delete(runId);
  return json(200, { runId, deleted: true });
}

const names = ["status", "olderThan", "keep", "workflow", "tags", "limit", "dryRun"];

export async function purgeRuns(service: Service, { request, url }: Call): Promise<Response> {
  queryOf(url, []);
  const members = membersOf(await readJson(request, service.limits), names);
  const workflow = textsIn(members, "workflow");
  const tags = labelsIn(members, "tags");
  // Each workflow by itself: a list must not hide one of them.
  const workflows = workflow === undefined ? [undefined] : [workflow].flat();
  if (workflows.length === 0) throw new HttpError("invalid-body", '"workflow" names no workflow.');
  for (const one of workflows)
    await allow(service, request, { type: "purge", ...only("workflow", one), ...only("tags", tags) });
  const options: PurgeOptions = {
    limit: Math.min(countIn(members, "limit") ?? mostRuns, mostRuns),
    ...only("workflow", workflow),
    // The library refuses statuses that it does not know.
    ...only("status", textsIn(members, "status") as EndStatus | EndStatus[] | undefined),
    ...only("olderThan", durationIn(members, "olderThan")),
    ...only("keep", countIn(members, "keep")),
    ...only("tags", tags),
    ...only("dryRun", flagIn(members, "dryRun")),
  };
  return json(200, { ...(await service.app.purge(options)) });
}
