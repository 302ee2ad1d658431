/**
 * Announcements over HTTP: each request drives a run until it stops, and returns its outcome. Between
 * requests only the journal in the bucket is kept, so that any isolate continues where another stopped.
 */

import { r2Bucket, type R2Binding } from "@durable/cloudflare";
import { createApp, type App, type Duration, type Outcome, type ResumeResult } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { errorResponse, HttpError, toJson } from "@durable/http";
import { chooseModel, paceOf, watched, type Environment, type Settlement } from "example-llm";
import { assertAccess, bodyOf, routeOf, type AccessEnv } from "example-llm/edge";
import { announcement, type Announcement } from "./announcement.ts";
import { script } from "./script.ts";

export interface Env extends AccessEnv {
  readonly JOURNAL: R2Binding;
  readonly SITE: { put(name: string, text: string): Promise<unknown> };
  /** Signs resume tokens: the same in every isolate. */
  readonly SECRET?: string;
  readonly LEASE?: Duration;
  readonly DEMO_PACE?: string;
}

/** The isolate that answered, its model, the steps it ran for this request, and those from the journal. */
export interface Served {
  readonly isolate: string;
  model: string;
  readonly ran: string[];
  readonly journal: string[];
}

// Nothing random may happen before the first request.
let isolate = "";

interface Driver {
  readonly app: App;
  readonly flow: Announcement;
}

/** One for each request, which brings the bindings. */
async function driverOf(env: Env, served: Served): Promise<Driver> {
  // Keys and other variables are next to the bindings.
  const variables = env as unknown as Environment;
  const { model, line } = await chooseModel(variables, { script, pace: paceOf(env.DEMO_PACE) });
  served.model = line;
  const settled = ({ ran, key }: Settlement): void => void served[ran ? "ran" : "journal"].push(key);
  const secret = env.SECRET || (env.DEV === "1" ? "for the emulator on this machine alone" : "");
  const flow = announcement({
    model,
    hear: (ctx) => watched(ctx, [{ settled }]),
    publish: (name, text) => env.SITE.put(name, text),
  });
  const app = createApp({
    workflows: [flow],
    storage: new RemoteStorage(r2Bucket(env.JOURNAL)),
    ...(secret && { secret }),
    // How long a silent driver keeps its lease.
    lease: env.LEASE || "30s",
    // The client waits for the response, so a failed model call is retried within the request.
    patience: "20s",
  });
  return { app, flow };
}

async function answer(request: Request, env: Env, served: Served): Promise<Response> {
  const { route, id } = routeOf(request);
  if (route === "POST /runs") {
    await assertAccess(request, env);
    // The library validates both.
    const { id: runId, ...input } = (await bodyOf(request)) as Readonly<Record<string, string>>;
    const { app, flow } = await driverOf(env, served);
    return outcomeResponse(await app.run(flow, input as never, { id: runId }), served);
  }
  if (route === "POST /resume") {
    // The token is the permission to answer: it is signed, and valid for one wait.
    const { token, value } = await bodyOf(request);
    const { app } = await driverOf(env, served);
    return resumeResponse(await app.resume(String(token), value), served);
  }
  if (route === "GET /runs/:id") {
    await assertAccess(request, env);
    const run = (await driverOf(env, served)).app.get(id);
    const entries = await run.entries();
    for (const entry of entries) if (entry.kind === "step.completed") served.journal.push(entry.key);
    return outcomeResponse(await run.outcome(), served);
  }
  throw new HttpError("no-route", "Use POST /runs, POST /resume or GET /runs/:id.");
}

/**
 * 200 with the outcome; 202 while another isolate drives the run, or may have died while driving it: retry.
 */
function outcomeResponse(outcome: Outcome<unknown>, served: Served): Response {
  return Response.json(toJson({ ...outcome, served }), { status: outcome.status === "running" ? 202 : 200 });
}

const statusOf = { accepted: 200, unknown: 404, duplicate: 409, expired: 410, invalid: 422 } as const;

/**
 * A token is the permission to answer one question, not to read the run: its holder gets the result, but no
 * token or note of the next question.
 */
function resumeResponse({ status, issues, outcome }: ResumeResult, served: Served): Response {
  const result = outcome && {
    status: outcome.status,
    ...(outcome.status === "completed" && { output: outcome.output }),
  };
  const body = {
    status,
    ...(issues !== undefined && { issues }),
    ...(result && { outcome: result }),
    served,
  };
  return Response.json(toJson(body), { status: statusOf[status] });
}

const handler = {
  async fetch(request: Request, env: Env): Promise<Response> {
    isolate ||= crypto.randomUUID().slice(0, 8);
    try {
      return await answer(request, env, { isolate, model: "", ran: [], journal: [] });
    } catch (error) {
      return errorResponse(error, console.error);
    }
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
