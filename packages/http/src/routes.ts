/** Maps a method and a path to the function that handles them. Proven in test/runs.test.ts. */

import { HttpError, json } from "./errors.ts";
import { forkRun, planRun } from "./forks.ts";
import { openApi } from "./openapi.ts";
import { assertOpen, type Call, refuse, type Service } from "./options.ts";
import { confirm, answer } from "./resume.ts";
import { cancelRun, listRuns, readEntries, readRun, startRun } from "./runs.ts";
import {
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  readSchedule,
  resumeSchedule,
  triggerSchedule,
} from "./schedules.ts";
import { listPaused, pauseRun, pauseWorkflow, retryRun, unpauseRun, unpauseWorkflow } from "./steer.ts";
import { streamRun } from "./stream.ts";

type Act = (service: Service, call: Call) => Promise<Response>;
type Acts = Readonly<Record<string, Act>>;

/** The one route without `authorize`: the token is the permission. */
const byToken = "resume/{token}";

const routes: readonly (readonly [path: string, acts: Acts])[] = [
  ["runs", { GET: listRuns, POST: startRun }],
  ["runs/{runId}", { GET: readRun }],
  ["runs/{runId}/entries", { GET: readEntries }],
  ["runs/{runId}/streams/{name}", { GET: streamRun }],
  ["runs/{runId}/fork", { POST: forkRun }],
  ["runs/{runId}/plan", { POST: planRun }],
  ["runs/{runId}/cancel", { POST: cancelRun }],
  ["schedules", { GET: listSchedules }],
  ["schedules/{name}", { GET: readSchedule, DELETE: deleteSchedule }],
  ["schedules/{name}/pause", { POST: pauseSchedule }],
  ["schedules/{name}/resume", { POST: resumeSchedule }],
  ["schedules/{name}/trigger", { POST: triggerSchedule }],
  ["runs/{runId}/pause", { POST: pauseRun }],
  ["runs/{runId}/unpause", { POST: unpauseRun }],
  ["runs/{runId}/retry", { POST: retryRun }],
  ["workflows/{workflow}/pause", { POST: pauseWorkflow }],
  ["workflows/{workflow}/unpause", { POST: unpauseWorkflow }],
  ["paused", { GET: listPaused }],
  [byToken, { GET: confirm, POST: answer }],
  ["openapi.json", { GET: describe }],
];

async function describe(service: Service, { request }: Call): Promise<Response> {
  return (await refuse(service, request, { type: "describe" })) ?? json(200, openApi(service));
}

export function routeOf(service: Service, request: Request): { readonly act: Act; readonly call: Call } {
  const url = new URL(request.url);
  const segments = segmentsOf(url.pathname, service.basePath);
  for (const [path, acts] of routes) {
    const params = match(path.split("/"), segments);
    if (params === null) continue;
    if (path !== byToken) assertOpen(service);
    const act = acts[request.method === "HEAD" ? "GET" : request.method];
    if (act === undefined) throw notAllowed(acts);
    return { act, call: { request, url, params } };
  }
  throw new HttpError("no-route", "There is nothing at this address.");
}

/** Split before decoding, because an escaped slash is part of a name. */
function segmentsOf(pathname: string, basePath: string): string[] {
  if (!pathname.startsWith(`${basePath}/`)) return [];
  try {
    return pathname
      .slice(basePath.length + 1)
      .split("/")
      .map(decodeURIComponent);
  } catch {
    throw new HttpError("invalid-path", "The path is not valid percent-encoded UTF-8.");
  }
}

function match(path: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (path.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of path.entries()) {
    const segment = segments[i] as string;
    if (part.startsWith("{") && segment !== "") params[part.slice(1, -1)] = segment;
    else if (part !== segment) return null;
  }
  return params;
}

function notAllowed(acts: Acts): HttpError {
  const allow = Object.keys(acts).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return new HttpError("method-not-allowed", `This address accepts ${allow.join(", ")}.`, {
    headers: { allow: allow.join(", ") },
  });
}
