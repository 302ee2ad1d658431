/**
 * The dashboard as one fetch handler: the page, its files, and the routes for data.
 *
 * dashboard.1. The checks come in this order: host, origin, route, permission. Nothing is read before all of them.
 * dashboard.2. The page and its files contain no data, so they need no permission; only then can it show the token.
 */

import { page } from "#page";
import { errorResponse, json, Refusal } from "./errors.ts";
import { exportRoute } from "./export/export-run.ts";
import {
  type ActionType,
  type Call,
  type DashboardOptions,
  refuse,
  type Service,
  serviceOf,
} from "./options.ts";
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
import { assertHost, assertSameOrigin, safeHeaders } from "./security.ts";
import type { Session } from "./api.ts";

/** A function that answers requests: for any server that uses the Fetch API. It never throws. */
export type Dashboard = (request: Request) => Promise<Response>;

interface Route {
  readonly method: "GET" | "POST";
  /** `:run` stands for the id of a run; other names after a colon become `params`, and part of the action. */
  readonly path: string;
  readonly does: ActionType;
  readonly act: (service: Service, call: Call) => Response | Promise<Response>;
}

const get = (path: string, act: Route["act"]): Route => ({ method: "GET", path, does: "read", act });
const post = (path: string, does: ActionType, act: Route["act"]): Route => ({
  method: "POST",
  path,
  does,
  act,
});

const routes: readonly Route[] = [
  get("session", (service) => json(200, sessionOf(service))),
  get("runs", runs.listRuns),
  get("counts", runs.countRuns),
  get("summaries", summaries),
  get("inbox", inbox),
  get("events", live.events),
  get("diff", compare.diffRuns),
  get("runs/:run", run.runPage),
  get("runs/:run/step", run.stepDetail),
  get("runs/:run/journal", run.journalPage),
  get("runs/:run/stream", live.chunks),
  get("runs/:run/tree", compare.forkTree),
  get("runs/:run/export", exportRoute),
  post("runs/:run/plan", "read", actions.plan),
  post("runs/:run/answer", "answer", actions.answer),
  post("runs/:run/fork", "fork", actions.forkRun),
  post("runs/:run/retry", "retry", steer.retry),
  post("runs/:run/pause", "pause", steer.pause),
  post("runs/:run/unpause", "unpause", steer.unpause),
  post("runs/:run/messages/:topic", "send", steer.send),
  post("runs/:run/wake", "wake", actions.wake),
  post("runs/:run/cancel", "cancel", actions.cancel),
  get("operations", operate.operations),
  post("schedules/:schedule/pause", "schedule", operate.pauseSchedule),
  post("schedules/:schedule/resume", "schedule", operate.resumeSchedule),
  post("schedules/:schedule/trigger", "schedule", operate.triggerSchedule),
  post("schedules/:schedule/delete", "schedule", operate.deleteSchedule),
  post("workflows/:workflow/pause", "pause", operate.pauseWorkflow),
  post("workflows/:workflow/unpause", "unpause", operate.unpauseWorkflow),
  post("purge", "purge", operate.purge),
];

/** Creates one handler `(Request) => Promise<Response>` with the page and its data. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const service = serviceOf(options);
  return async (request) => {
    const response = await respond(service, request).catch((error: unknown) =>
      errorResponse(error, service.onError),
    );
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(safeHeaders)) if (!headers.has(name)) headers.set(name, value);
    const { status } = response;
    if (request.method !== "HEAD") return new Response(response.body, { status, headers });
    await response.body?.cancel();
    return new Response(null, { status, headers });
  };
}

async function respond(service: Service, request: Request): Promise<Response> {
  assertHost(request, service.hosts);
  const url = new URL(request.url);
  const { basePath } = service;
  if (url.pathname !== basePath && !url.pathname.startsWith(`${basePath}/`))
    throw new Refusal("no-route", `The dashboard is mounted at "${basePath}".`);
  const path = url.pathname.slice(basePath.length + 1);
  if (!path.startsWith("api/")) return file(service, request, path);
  assertSameOrigin(request);
  if (path === "api/session" && request.method === "POST") return openSession(service, request);
  const { route, runId, params } = find(request, path.slice("api/".length));
  const no = await refuse(service, request, {
    type: route.does,
    ...(runId === "" ? {} : { runId }),
    ...params,
  });
  return no ?? route.act(service, { request, url, runId, params });
}

interface Found {
  readonly route: Route;
  readonly runId: string;
  readonly params: Readonly<Record<string, string>>;
}

function find(request: Request, path: string): Found {
  const parts = path.split("/");
  const fits = routes.filter((route) => {
    const wanted = route.path.split("/");
    return (
      wanted.length === parts.length && wanted.every((part, i) => part.startsWith(":") || part === parts[i])
    );
  });
  const method = request.method === "HEAD" ? "GET" : request.method;
  const route = fits.find((each) => each.method === method);
  if (route === undefined)
    throw fits.length === 0
      ? new Refusal("no-route", "There is no such route.")
      : new Refusal("method-not-allowed", `Use ${fits.map((each) => each.method).join(" or ")}.`);
  const params: Record<string, string> = {};
  let runId = "";
  for (const [i, part] of route.path.split("/").entries()) {
    if (part === ":run") runId = run.checkedId(parts[i] ?? "");
    else if (part.startsWith(":")) params[part.slice(1)] = decoded(parts[i] ?? "");
  }
  return { route, runId, params };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal("invalid-query", "The path is not valid percent-encoded UTF-8.");
  }
}

/** Exchanges the token for a cookie. */
async function openSession({ sessions }: Service, request: Request): Promise<Response> {
  if (sessions === null || !(await sessions.has(request)))
    throw new Refusal("forbidden", "This token is not valid. Open the address that was printed last.");
  return json(200, {}, { "set-cookie": await sessions.cookie(request) });
}

function sessionOf({ title, readOnly, code, app }: Service): Session {
  return { title, readOnly, code: [...code], now: app.world.now() };
}

/** The page under every path that is not a file of it, so that links lead to where they were copied. */
async function file({ basePath }: Service, request: Request, path: string): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD")
    throw new Refusal("method-not-allowed", "Use GET.");
  const { script, style } = await page();
  if (path === "app.js") return text("text/javascript", script);
  if (path === "app.css") return text("text/css", style);
  if (path === "favicon.ico") return new Response(null, { status: 204 });
  return text("text/html", shell(basePath));
}

function text(type: string, body: string): Response {
  return new Response(body, { headers: { "content-type": `${type}; charset=utf-8` } });
}
