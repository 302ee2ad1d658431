/**
 * Reports, fire and forget: a submission is recorded and answered, and a queue drives the run. All state is
 * in the journal in the bucket; a message only names a run.
 */

import { createBudget, createConsumer, r2Bucket, type Budget } from "@durable/cloudflare";
import type { Consumer, QueueBinding, QueueMessage, R2Binding } from "@durable/cloudflare";
import { createApp, type App } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { errorResponse, HttpError, toJson } from "@durable/http";
import { chooseModel, paceOf, watched, type Environment, type Settlement } from "example-llm";
import { assertAccess, bodyOf, routeOf, type AccessEnv } from "example-llm/edge";
import { crashOnce, type Site } from "./crash.ts";
import { report, type Report } from "./report.ts";
import { script } from "./script.ts";

export interface Env extends AccessEnv {
  readonly JOURNAL: R2Binding;
  readonly SITE: Site;
  readonly RUNS: QueueBinding;
  /** Signs resume tokens: the same in every isolate. */
  readonly SECRET?: string;
  readonly LEASE_SECONDS?: string;
  readonly DEMO_PACE?: string;
}

// Nothing random may happen before the first request.
let isolate = "";

function leaseSecondsOf({ LEASE_SECONDS }: Env): number {
  return Number(LEASE_SECONDS || 30);
}

interface Driver {
  readonly app: App;
  readonly flow: Report;
  /** The chosen model and the reason. */
  readonly line: string;
}

/** One for each invocation, which brings the bindings and the budget. */
async function appOf(env: Env, budget: Budget): Promise<Driver> {
  isolate ||= crypto.randomUUID().slice(0, 8);
  // Keys and other variables are next to the bindings.
  const variables = env as unknown as Environment;
  const { model, line } = await chooseModel(variables, { script, pace: paceOf(env.DEMO_PACE) });
  const secret = env.SECRET || (env.DEV === "1" ? "for the emulator on this machine alone" : "");
  const options = {
    storage: new RemoteStorage(budget.count(r2Bucket(env.JOURNAL))),
    ...(secret && { secret }),
    lease: leaseSecondsOf(env) * 1_000,
    // A Worker should not hold a sleep in memory.
    patience: 0,
  };
  const flow = report({
    model,
    hear: (ctx) => {
      const say = (what: string): void => console.log(`run ${ctx.runId}: isolate ${isolate} ${what}`);
      const settled = ({ ran, key }: Settlement): void => say(`${ran ? "ran" : "journal"} ${key}`);
      return watched(ctx, [{ settled }]);
    },
    put: (name, text) => env.SITE.put(name, text),
    crashOnce: (place) => crashOnce(place, env),
  });
  return { flow, line, app: createApp({ ...options, workflows: [flow] }) };
}

async function consumerOf(env: Env): Promise<Consumer> {
  const budget = createBudget();
  const { app } = await appOf(env, budget);
  // On this machine, sweeps are made by hand.
  const sweepSeconds = env.DEV === "1" ? 0 : 60;
  return createConsumer(app, {
    queue: env.RUNS,
    budget,
    lookAgainSeconds: leaseSecondsOf(env),
    sweepSeconds,
  });
}

/** The response to an answer. It is only recorded, so it is never `invalid` here. */
const answered = { accepted: 202, duplicate: 409, expired: 410, invalid: 422, unknown: 404 } as const;

async function answer(request: Request, env: Env): Promise<Response> {
  const { route, id } = routeOf(request);
  if (route === "POST /runs") {
    await assertAccess(request, env);
    // The library validates both.
    const { id: given, ...input } = (await bodyOf(request)) as Readonly<Record<string, string>>;
    const { app, flow, line } = await appOf(env, createBudget());
    // Only recorded: no model is called while the client waits for this response.
    const { id: runId } = await app.start(flow, input as never, { id: given, drive: false });
    // If this message is lost, or never sent, the sweep finds the run.
    await env.RUNS.send({ type: "advance", runId });
    return Response.json({ status: "submitted", runId, model: line }, { status: 202 });
  }
  if (route === "POST /resume") {
    // The token is the only permission here, so it is checked first: a forged one costs no message, and is not
    // stored anywhere. The answer is in the journal before it is acknowledged.
    const { token, value = null } = await bodyOf(request);
    const { app } = await appOf(env, createBudget());
    const { status, outcome } = await app.resume(String(token), value, { drive: false });
    if (outcome !== undefined) await env.RUNS.send({ type: "advance", runId: outcome.runId });
    return Response.json({ status }, { status: answered[status] });
  }
  if (route === "GET /runs/:id") {
    await assertAccess(request, env);
    const run = (await appOf(env, createBudget())).app.get(id);
    const entries = await run.entries();
    const steps = entries.flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
    // The consumer checks answers. One that does not fit leaves the question open, for the next one.
    const refused = entries.flatMap((entry) => (entry.kind === "suspend.rejected" ? entry.issues : []));
    const question = await (await env.SITE.get(`${id}/question.json`))?.text();
    return Response.json({
      ...(toJson({ ...(await run.outcome()), steps, refused }) as object),
      question: question === undefined ? null : (JSON.parse(question) as unknown),
    });
  }
  throw new HttpError("no-route", "Use POST /runs, POST /resume or GET /runs/:id.");
}

const handler = {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      return await answer(request, env);
    } catch (error) {
      return errorResponse(error, console.error);
    }
  },

  async queue(batch: { readonly messages: readonly QueueMessage[] }, env: Env): Promise<void> {
    const consumer = await consumerOf(env);
    for (const { body, attempts } of batch.messages) {
      const { type, runId = "" } = body as Readonly<Record<string, string>>;
      console.log(`queue: isolate ${isolate} is handed "${`${type} ${runId}`.trim()}", delivery ${attempts}`);
    }
    await consumer.queue(batch);
  },

  async scheduled(_event: unknown, env: Env): Promise<void> {
    const due = await (await consumerOf(env)).scheduled();
    console.log(`sweep: ${due} due`);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
