/** The routes of runs: start, list, read, cancel. */

import type { ListedRun, ListQuery, Outcome, RunStatus, SuspendPoint } from "@durable/core";
import { listedFacts } from "@durable/core/inspect";
import type { Undone } from "@durable/core/types";
import { readJson } from "./body.ts";
import { HttpError, json, jsonText } from "./errors.ts";
import { allow, mayDo, readable, type Service } from "./options.ts";
import { accepted, only, reasonOf } from "./replies.ts";
import {
  flagIn,
  membersOf,
  optionalMembers,
  queryOf,
  runIdOf,
  tagsIn,
  textIn,
  wholeIn,
} from "./request-fields.ts";
import type { Call } from "./router.ts";
import { asBody, startMembers, startOptions } from "./start-options.ts";
import { type Json, toJson } from "./to-json.ts";

export async function startRun(service: Service, { request }: Call): Promise<Response> {
  const { app, limits, handOn } = service;
  const names = ["workflow", "input", "id", "tags", ...startMembers];
  const members = membersOf(await readJson(request, limits), names);
  const workflow = textIn(members, "workflow");
  const id = textIn(members, "id");
  if (workflow === undefined)
    throw new HttpError("invalid-body", '"workflow" is missing: it names the workflow to start.');
  if (id !== undefined) runIdOf(id);
  const tags = members["tags"] as Readonly<Record<string, string>> | undefined;
  const options = startOptions(members);
  const { singleton, debounce, priority } = options;
  const action = {
    type: "start",
    workflow,
    ...only("singleton", singleton as string | undefined),
    ...only("debounce", debounce?.key),
    ...only("priority", priority),
    ...only("tags", tags),
  } as const;
  const { scope, priority: most = Infinity } = await allow(service, request, {
    ...action,
    ...only("runId", id),
  });
  if (Number(priority ?? 0) > most)
    throw new HttpError("forbidden", `You may start runs with a priority of at most ${most}.`);
  // A start may be answered with another run than it asked for.
  const mayJoin = async (runId: string): Promise<void> => {
    if (runId !== id) await allow(service, request, { ...action, runId });
  };
  // The library refuses invalid tags, as `invalid-options`.
  const given = { id, tags, scope, mayJoin, ...options, ...(handOn !== null && { drive: false }) };
  const run = await asBody(app.start(workflow, members["input"], given), options);
  await handOn?.(run.id);
  const isPlain = Object.keys(options).length === 0;
  const status = !run.repeated && isPlain ? "running" : (await run.outcome()).status;
  return accepted(service, { runId: run.id, status, repeated: run.repeated });
}

const listed = "workflow status parent version createdAfter createdBefore q waiting limit cursor".split(" ");
const time = [0, 8.64e15] as const;

export async function listRuns(service: Service, { request, url }: Call): Promise<Response> {
  const query = queryOf(url, listed, "tag");
  const workflow = query.get("workflow");
  const parent = query.has("parent") ? runIdOf(query.get("parent")) : undefined;
  const tags = tagsIn(url);
  await allow(service, request, {
    type: "list",
    ...only("workflow", workflow),
    ...only("runId", parent),
    ...only("tags", tags),
  });
  const asked: ListQuery = {
    limit: wholeIn(query, "limit", [1, 1_000]) ?? 50,
    ...only("workflow", workflow),
    ...only("status", statusOf(query.get("status"))),
    ...only("parent", parent),
    ...only("tags", tags),
    ...only("version", query.get("version")),
    ...only("createdAfter", wholeIn(query, "createdAfter", time)),
    ...only("createdBefore", wholeIn(query, "createdBefore", time)),
    ...only("q", query.get("q")),
    ...only("waiting", onIn(query, "waiting")),
    ...only("cursor", query.get("cursor")),
  };
  const { runs, ...place } = await service.app.list(asked);
  return json(200, { runs: (await readable(service, request, runs)).map(headOf), ...place });
}

export async function readRun(service: Service, { request, url, runId }: Call): Promise<Response> {
  queryOf(url, []);
  const outcome = await service.app.get(runId).outcome();
  const waits = "waiting" in outcome && outcome.waiting.length > 0;
  const tokens = waits && (await mayDo(service, request, { type: "tokens", runId }));
  return json(200, outcomeOf(outcome, tokens));
}

const encoder = new TextEncoder();

export async function readEntries({ app, limits }: Service, { url, runId }: Call): Promise<Response> {
  const query = queryOf(url, ["after", "limit", "struck"]);
  const after = wholeIn(query, "after", [0, Number.MAX_SAFE_INTEGER]) ?? 0;
  const limit = wholeIn(query, "limit", [1, 1_000]) ?? 100;
  // One more than the page has, to see whether another page follows.
  const found = await app.get(runId).entries({ after, limit: limit + 1, struck: onIn(query, "struck") });
  const page: string[] = [];
  let bytes = 0;
  for (const entry of found.slice(0, limit)) {
    const text = JSON.stringify(toJson(entry));
    bytes += encoder.encode(text).length;
    if (page.length > 0 && bytes > limits.pageBytes) break;
    page.push(text);
  }
  const next = page.length < found.length ? (found[page.length - 1]?.seq ?? null) : null;
  return jsonText(200, `{"entries":[${page.join(",")}],"next":${next}}`);
}

export async function cancelRun({ app, limits }: Service, { request, runId }: Call): Promise<Response> {
  const members = await optionalMembers(request, limits, ["reason", "force"]);
  const outcome = await app.cancel(runId, {
    reason: textIn(members, "reason"),
    force: flagIn(members, "force"),
  });
  return json(200, outcomeOf(outcome, false));
}

/** The outcome of a run, as JSON. */
export function outcomeOf(outcome: Outcome<unknown>, tokens: boolean): Json {
  const { runId, status, state, report } = outcome;
  const shown = report === undefined ? {} : { report: toJson(report) };
  return { runId, status, state, ...shown, ...endOf(outcome, tokens) };
}

function endOf(outcome: Outcome<unknown>, tokens: boolean): { readonly [key: string]: Json } {
  switch (outcome.status) {
    case "completed":
      return { output: toJson(outcome.output) };
    case "failed":
      return { error: reasonOf(outcome.error), ...only("uncompensated", outcome.uncompensated) };
    case "blocked":
      return {
        error: reasonOf(outcome.error),
        since: outcome.since,
        waiting: waitingOf(outcome.waiting, tokens),
        ...undoneOf(outcome),
      };
    case "paused":
      return {
        reason: outcome.reason,
        since: outcome.since,
        waiting: waitingOf(outcome.waiting, tokens),
      };
    case "suspended":
      return {
        waiting: waitingOf(outcome.waiting, tokens),
        wakeAt: outcome.wakeAt,
        ...undoneOf(outcome),
      };
    case "cancelled":
      return {
        ...only("reason", outcome.reason),
        ...only("error", outcome.error && reasonOf(outcome.error)),
        ...only("uncompensated", outcome.uncompensated),
      };
    case "running":
      return { waiting: waitingOf(outcome.waiting, tokens), ...undoneOf(outcome) };
  }
}

/** What a run that undoes its work says about it. */
function undoneOf({ cancelling, failing }: Undone): { readonly [key: string]: Json } {
  return {
    ...(cancelling === undefined ? {} : { cancelling: { ...only("reason", cancelling.reason) } }),
    ...(failing === undefined ? {} : { failing: reasonOf(failing) }),
  };
}

function waitingOf(waiting: readonly SuspendPoint[], tokens: boolean): Json[] {
  return waiting.map(({ key, name, token, note, schema, expiresAt, topic }) => ({
    key,
    name,
    note: toJson(note),
    schema: toJson(schema),
    expiresAt,
    ...(topic === undefined ? {} : { topic }),
    ...(tokens && topic === undefined ? { token } : {}),
  }));
}

function headOf(head: ListedRun): Json {
  const about = { tags: {}, version: null, ...listedFacts(head) };
  const { blocked } = head;
  return toJson(blocked === undefined ? about : { ...about, error: reasonOf(blocked), since: blocked.since });
}

const statuses: readonly RunStatus[] = [
  "running",
  "suspended",
  "paused",
  "blocked",
  "completed",
  "failed",
  "cancelled",
];

function onIn(query: ReadonlyMap<string, string>, name: string): true | undefined {
  const text = query.get(name);
  if (text === undefined || text === "true") return text === "true" ? true : undefined;
  throw new HttpError("invalid-query", `"${name}" must be true, or be left out.`);
}

function statusOf(text: string | undefined): RunStatus | undefined {
  const found = statuses.find((status) => status === text);
  if (text === undefined || found !== undefined) return found;
  throw new HttpError("invalid-query", `"status" must be one of ${statuses.join(", ")}.`);
}
