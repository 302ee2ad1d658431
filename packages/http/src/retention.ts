/** The routes that delete runs: one by its id, or old ones. Proven in test/retention.test.ts. */

import type { EndStatus, PurgeOptions } from "@durable/core";
import { readJson } from "./body.ts";
import { HttpError, json } from "./errors.ts";
import { type Call, refuse, type Service } from "./options.ts";
import { only } from "./replies.ts";
import { membersOf, queryOf, runIdOf } from "./request-fields.ts";

/** Runs that one request deletes at most, because a client waits for it. `more` in the answer says to ask again. */
const mostRuns = 1_000;

export async function deleteRun(service: Service, { request, url, params }: Call): Promise<Response> {
  queryOf(url, []);
  const runId = runIdOf(params["runId"]);
  const no = await refuse(service, request, { type: "delete", runId });
  if (no !== null) return no;
  await service.app.delete(runId);
  return json(200, { runId, deleted: true });
}

const names = ["status", "olderThan", "keep", "workflow", "tags", "limit", "dryRun"];

export async function purgeRuns(service: Service, { request, url }: Call): Promise<Response> {
  queryOf(url, []);
  const members = membersOf(await readJson(request, service.limits), names);
  const workflow = textsIn(members, "workflow");
  const action = {
    type: "purge",
    ...only("workflow", typeof workflow === "string" ? workflow : undefined),
  } as const;
  const no = await refuse(service, request, action);
  if (no !== null) return no;
  const options: PurgeOptions = {
    limit: Math.min(wholeIn(members, "limit") ?? mostRuns, mostRuns),
    ...only("workflow", workflow),
    // The library refuses statuses that it does not know.
    ...only("status", textsIn(members, "status") as EndStatus | EndStatus[] | undefined),
    ...only("olderThan", ageIn(members)),
    ...only("keep", wholeIn(members, "keep")),
    ...only("tags", tagsIn(members)),
    ...only("dryRun", flagIn(members)),
  };
  return json(200, { ...(await service.app.purge(options)) });
}

type Members = Readonly<Record<string, unknown>>;

function textsIn(members: Members, name: string): string | string[] | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw invalid(name, "a string or a list of strings");
}

function wholeIn(members: Members, name: string): number | undefined {
  const value = members[name];
  if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0))
    return value;
  throw invalid(name, "a whole number");
}

function ageIn({ olderThan }: Members): string | number | undefined {
  if (olderThan === undefined || typeof olderThan === "string" || typeof olderThan === "number")
    return olderThan;
  throw invalid("olderThan", 'a duration such as "30 days", or milliseconds');
}

function tagsIn({ tags }: Members): Readonly<Record<string, string>> | undefined {
  if (tags === undefined) return tags;
  const isObject = typeof tags === "object" && tags !== null && !Array.isArray(tags);
  if (isObject && Object.values(tags).every((value) => typeof value === "string"))
    return tags as Readonly<Record<string, string>>;
  throw invalid("tags", "an object of strings");
}

function flagIn({ dryRun }: Members): boolean | undefined {
  if (dryRun === undefined || typeof dryRun === "boolean") return dryRun;
  throw invalid("dryRun", "true or false");
}

function invalid(name: string, what: string): HttpError {
  return new HttpError("invalid-body", `"${name}" must be ${what}.`);
}
