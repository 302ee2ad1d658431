/**
 * The dashboard as one fetch handler: the page, its files, and the routes for data.
 *
 * dashboard.1. The checks come in this order: host, origin, route, permission. Nothing is read before all of them.
 * dashboard.2. The page and its files contain no data, so they need no permission; only then can it show the token.
 */

import { page } from "#page";
import type { Action } from "@durable/core";
import { storageOf } from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import {
  allow,
  answerTo,
  type Call,
  findRoute,
  isForeign,
  json,
  namesIn,
  type Route,
  type Routes,
} from "@durable/http/kit";
import { errorResponse, Refusal } from "./errors.ts";
import { exportRoute } from "./export/export-run.ts";
import { type DashboardOptions, type Service, serviceOf } from "./options.ts";
import { blindMs } from "./live.ts";
import { shell } from "./shell.ts";
import * as actions from "./routes/actions.ts";
import * as evals from "./routes/evals.ts";
import * as compare from "./routes/compare.ts";
import { cost } from "./routes/cost.ts";
import * as live from "./routes/events.ts";
import { inbox, runWaits } from "./routes/inbox.ts";
import * as operate from "./routes/operate.ts";
import * as overview from "./routes/overview.ts";
import * as run from "./routes/run.ts";
import * as values from "./routes/values.ts";
import * as runs from "./routes/runs.ts";
import * as steer from "./routes/steer.ts";
import { assertHost, safeHeaders } from "./security.ts";
import type { OpenedSession, Session } from "./api.ts";

/** A function that answers requests: for any server that uses the Fetch API. It never throws. */
export type Dashboard = (request: Request) => Promise<Response>;

/** A route as the handler has them, for the service of a dashboard. */
export interface DashboardRoute extends Omit<Route, "act"> {
  /** True where it does nothing that `readOnly` refuses. */
  readonly reads?: true;
  readonly act: (service: Service, call: Call) => Response | Promise<Response>;
}

type Act = DashboardRoute["act"];
type Names = readonly (keyof Action)[];

const get = (
  type: Action["type"],
  act: Act,
  rest: Pick<DashboardRoute, "late" | "also"> = {},
): Record<string, DashboardRoute> => ({ GET: { asks: { type }, reads: true, act, ...rest } });
const post = (type: Action["type"], act: Act, late?: Names): Record<string, DashboardRoute> => ({
  POST: { asks: { type }, act, ...(late && { late }) },
});
const change = (name: NonNullable<Action["change"]>, act: Act): Record<string, DashboardRoute> => ({
  POST: { asks: { type: "schedule", change: name }, act },
});
const fork = (act: Act): DashboardRoute => ({
  asks: { type: "fork" },
  late: ["edits", "waits", "topic"],
  also: ["resume", "send"],
  act,
});
const rows = { also: ["read"] } as const;

export const routes: Routes<DashboardRoute> = [
  [
    "session",
    {
      ...get("describe", session),
      POST: { asks: null, reads: true, act: openSession },
      DELETE: { asks: null, reads: true, act: closeSession },
    },
  ],
  ["runs", get("list", runs.listRuns, { late: ["workflow", "runId", "tags"], ...rows })],
  ["suggest", get("list", runs.suggest, rows)],
  ["counts", get("overview", runs.countRuns)],
  ["pulse", get("overview", overview.pulse)],
  ["cost", get("overview", cost, { also: ["read"] })],
  ["evals", get("list", evals.evals, rows)],
  ["evals/{runId}", get("read", evals.evalReport)],
  ["attention", get("list", overview.attention, { also: ["read", "overview"] })],
  ["inbox", get("list", inbox, rows)],
  ["events", get("list", live.events, { late: [], ...rows })],
  ["diff", get("read", compare.diffRuns, { late: ["runId"] })],
  ["runs/{runId}", get("read", run.runPage, rows)],
  ["runs/{runId}/waits", get("read", runWaits)],
  ["runs/{runId}/children", get("read", run.children, rows)],
  ["runs/{runId}/step", get("read", values.stepDetail)],
  ["runs/{runId}/value", get("read", values.valueParts)],
  ["runs/{runId}/journal", get("read", run.journalPage)],
  ["runs/{runId}/stream", get("stream", live.chunks)],
  ["runs/{runId}/tree", get("read", compare.forkTree, rows)],
  ["runs/{runId}/export", get("read", exportRoute, rows)],
  ["runs/{runId}/plan", { POST: { ...fork(actions.plan), reads: true } }],
  ["runs/{runId}/answer", post("resume", actions.answer, ["waits"])],
  ["runs/{runId}/fork", { POST: fork(actions.forkRun) }],
  ["runs/{runId}/retry", post("retry", steer.retry)],
  ["runs/{runId}/pause", post("pause", steer.pause)],
  ["runs/{runId}/unpause", post("unpause", steer.unpause)],
  ["runs/{runId}/messages/{topic}", post("send", steer.send)],
  ["runs/{runId}/score", post("score", steer.score)],
  ["runs/{runId}/wake", post("wake", actions.wake)],
  ["runs/{runId}/cancel", post("cancel", actions.cancel)],
  ["operations", get("overview", operate.operations, { also: ["schedules"] })],
  ["schedules/{schedule}/pause", change("pause", operate.pauseSchedule)],
  ["schedules/{schedule}/unpause", change("unpause", operate.unpauseSchedule)],
  ["schedules/{schedule}/trigger", change("trigger", operate.triggerSchedule)],
  ["schedules/{schedule}/delete", change("delete", operate.deleteSchedule)],
  ["workflows/{workflow}/pause", post("pause", operate.pauseWorkflow)],
  ["workflows/{workflow}/unpause", post("unpause", operate.unpauseWorkflow)],
  ["purge", post("purge", operate.purge, ["workflow"])],
];

/** Creates one handler `(Request) => Promise<Response>` with the page and its data. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const service = serviceOf(options);
  return async (request) => {
    const response = await answerTo(
      request,
      () => respond(service, request),
      (error) => errorResponse(withHint(service, error), service.onError),
    );
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(safeHeaders)) if (!headers.has(name)) headers.set(name, value);
    const body = zipped(request, response.body, headers);
    return new Response(body, { status: response.status, headers });
  };
}

/** Texts are compressed for those who take it; events are not, because they have to arrive at once. */
function zipped(request: Request, body: Response["body"], headers: Headers): Response["body"] {
  const type = headers.get("content-type") ?? "";
  if (body === null || !/json|javascript|css|html/.test(type)) return body;
  headers.append("vary", "accept-encoding");
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) return body;
  headers.set("content-encoding", "gzip");
  headers.delete("content-length");
  return body.pipeThrough(new CompressionStream("gzip"));
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
  const { asks, late, reads, act } = route;
  if (service.readOnly && reads !== true)
    throw new Refusal(
      "read-only",
      "This dashboard is read-only. Start it without readOnly to allow actions.",
    );
  if (asks === null || late !== undefined) return act(service, call);
  const { scope } = await allow(service, request, { ...asks, ...namesIn(call.params) });
  return act(service, scope === undefined ? call : { ...call, scope });
}

/** Where a token opens the page, a refusal says so. */
function withHint({ sessions }: Service, error: unknown): unknown {
  if (sessions === null || !(error instanceof HttpError) || error.code !== "forbidden") return error;
  return new HttpError(
    "forbidden",
    "Open this page with the address that was printed when it started: it contains the token.",
  );
}

/** Exchanges the token for a session of the page. */
async function openSession({ sessions }: Service, { request }: Call): Promise<Response> {
  if (sessions === null || !(await sessions.has(request)))
    throw new HttpError("forbidden", "This token is not valid. Open the address that was printed last.");
  return json(200, { session: await sessions.open() } satisfies OpenedSession);
}

/** Logs a page out. */
async function closeSession({ sessions }: Service, { request }: Call): Promise<Response> {
  await sessions?.close(request);
  return json(200, {});
}

async function session({ title, readOnly, code, app }: Service): Promise<Response> {
  const storage = await storageOf(app);
  const everyMs = storage.revision === undefined ? blindMs : null;
  return json(200, { title, readOnly, code: [...code], now: app.world.now(), everyMs } satisfies Session);
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
