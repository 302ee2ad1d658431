/**
 * The dashboard as one fetch handler: the page, its files, and the routes for data.
 *
 * dashboard.1. The checks come in this order: host, origin, route, permission. Nothing is read before all of them.
 * dashboard.2. The page and its files contain no data, so they need no permission; only then can it show the token.
 */

import { page } from "#page";
import { HttpError } from "@durable/http";
import { answerTo, type Call, findRoute, isForeign, json, type Routes } from "@durable/http/kit";
import { errorResponse } from "./errors.ts";
import { exportRoute } from "./export/export-run.ts";
import { type ActionType, type DashboardOptions, refuse, type Service, serviceOf } from "./options.ts";
import { shell } from "./shell.ts";
import * as actions from "./routes/actions.ts";
import * as compare from "./routes/compare.ts";
import * as live from "./routes/events.ts";
import { inbox } from "./routes/inbox.ts";
import * as operate from "./routes/operate.ts";
import * as run from "./routes/run.ts";
import * as runs from "./routes/runs.ts";
import * as steer from "./routes/steer.ts";
import { summaries } from "./routes/summaries.ts";
import { assertHost, safeHeaders } from "./security.ts";
import type { Session } from "./api.ts";

/** A function that answers requests: for any server that uses the Fetch API. It never throws. */
export type Dashboard = (request: Request) => Promise<Response>;

interface Route {
  /** The permission, to which the names in the path are added; `null` for the exchange of the token. */
  readonly asks: ActionType | null;
  readonly act: (service: Service, call: Call) => Response | Promise<Response>;
}

const get = (act: Route["act"]): Record<string, Route> => ({ GET: { asks: "read", act } });
const post = (asks: ActionType, act: Route["act"]): Record<string, Route> => ({ POST: { asks, act } });

const routes: Routes<Route> = [
  ["session", { ...get(session), POST: { asks: null, act: openSession } }],
  ["runs", get(runs.listRuns)],
  ["counts", get(runs.countRuns)],
  ["summaries", get(summaries)],
  ["inbox", get(inbox)],
  ["events", get(live.events)],
  ["diff", get(compare.diffRuns)],
  ["runs/{runId}", get(run.runPage)],
  ["runs/{runId}/step", get(run.stepDetail)],
  ["runs/{runId}/journal", get(run.journalPage)],
  ["runs/{runId}/stream", get(live.chunks)],
  ["runs/{runId}/tree", get(compare.forkTree)],
  ["runs/{runId}/export", get(exportRoute)],
  ["runs/{runId}/plan", post("read", actions.plan)],
  ["runs/{runId}/answer", post("answer", actions.answer)],
  ["runs/{runId}/fork", post("fork", actions.forkRun)],
  ["runs/{runId}/retry", post("retry", steer.retry)],
  ["runs/{runId}/pause", post("pause", steer.pause)],
  ["runs/{runId}/unpause", post("unpause", steer.unpause)],
  ["runs/{runId}/messages/{topic}", post("send", steer.send)],
  ["runs/{runId}/wake", post("wake", actions.wake)],
  ["runs/{runId}/cancel", post("cancel", actions.cancel)],
  ["operations", get(operate.operations)],
  ["schedules/{schedule}/pause", post("schedule", operate.pauseSchedule)],
  ["schedules/{schedule}/resume", post("schedule", operate.resumeSchedule)],
  ["schedules/{schedule}/trigger", post("schedule", operate.triggerSchedule)],
  ["schedules/{schedule}/delete", post("schedule", operate.deleteSchedule)],
  ["workflows/{workflow}/pause", post("pause", operate.pauseWorkflow)],
  ["workflows/{workflow}/unpause", post("unpause", operate.unpauseWorkflow)],
  ["purge", post("purge", operate.purge)],
];

/** Creates one handler `(Request) => Promise<Response>` with the page and its data. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const service = serviceOf(options);
  return async (request) => {
    const response = await answerTo(
      request,
      () => respond(service, request),
      (error) => errorResponse(error, service.onError),
    );
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(safeHeaders)) if (!headers.has(name)) headers.set(name, value);
    return new Response(response.body, { status: response.status, headers });
  };
}

async function respond(service: Service, request: Request): Promise<Response> {
  assertHost(request, service.hosts);
  const { pathname } = new URL(request.url);
  const { basePath } = service;
  if (pathname !== basePath && !pathname.startsWith(`${basePath}/`))
    throw new HttpError("no-route", `The dashboard is mounted at "${basePath}".`);
  const api = `${basePath}/api`;
  if (!pathname.startsWith(`${api}/`)) return file(service, request, pathname.slice(basePath.length + 1));
  if (isForeign(request, { strict: true }))
    throw new HttpError("cross-site", "Pages of other origins may not ask for this.");
  const { route, call } = findRoute(routes, request, { basePath: api });
  const { asks, act } = route;
  const no = asks === null ? null : await refuse(service, request, { type: asks, ...call.params });
  return no ?? act(service, call);
}

/** Exchanges the token for a cookie. */
async function openSession({ sessions }: Service, { request }: Call): Promise<Response> {
  if (sessions === null || !(await sessions.has(request)))
    throw new HttpError("forbidden", "This token is not valid. Open the address that was printed last.");
  return json(200, {}, { "set-cookie": await sessions.cookie(request) });
}

function session({ title, readOnly, code, app }: Service): Response {
  return json(200, { title, readOnly, code: [...code], now: app.world.now() } satisfies Session);
}

/** The page under every path that is not a file of it, so that links lead to where they were copied. */
async function file({ basePath }: Service, request: Request, path: string): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD")
    throw new HttpError("method-not-allowed", "Use GET.");
  const { script, style } = await page();
  if (path === "app.js") return text("text/javascript", script);
  if (path === "app.css") return text("text/css", style);
  if (path === "favicon.ico") return new Response(null, { status: 204 });
  return text("text/html", shell(basePath));
}

function text(type: string, body: string): Response {
  return new Response(body, { headers: { "content-type": `${type}; charset=utf-8` } });
}
