/**
 * What a person can do with a run. Proven in test/actions.test.ts.
 *
 * actions.1. No action rewrites history: each appends an entry, or makes a new run.
 * actions.2. Tokens stay on the server. The page names a wait by its key.
 */

import { DurableError, type ForkOptions, type ResumeStatus, type Run } from "@durable/core";
import { HttpError } from "@durable/http";
import { allow, answerWait, type Call, forkOptionsIn, json, textIn } from "@durable/http/kit";
import { allowFork, viewRun, wakeRun } from "@durable/core/inspect";
import type { PlanReply } from "../api.ts";
import type { Service } from "../options.ts";
import { answerMs, assertCode, driveWithCode } from "./drive.ts";
import { readBody, reasonIn, said } from "./request.ts";

const answered: Readonly<Record<ResumeStatus, readonly [status: number, message: string]>> = {
  accepted: [200, "Your answer was received."],
  duplicate: [409, "This wait was answered before. Your answer was not used."],
  expired: [409, "This wait has expired. Your answer was not used."],
  invalid: [422, "Your answer does not fit the schema."],
  unknown: [409, "This wait no longer exists."],
};

export async function answer(service: Service, { request, runId }: Call): Promise<Response> {
  const { app, onError } = service;
  const body = await readBody(request, ["key", "value"]);
  const key = textIn(body, "key");
  await allow(service, request, { type: "resume", runId, waits: key === undefined ? [] : [key] });
  if (!("value" in body)) throw new HttpError("invalid-body", `"value" is missing.`);
  const outcome = await app.get(runId).outcome();
  const wait = "waiting" in outcome ? outcome.waiting.find((point) => point.key === key) : undefined;
  if (wait?.topic !== undefined)
    return said(`This call waits for a message: send one to "${wait.topic}".`, runId, 409);
  const given = { value: body["value"], answerMs, onError };
  if (wait === undefined) return notOpen(app, runId, key ?? "");
  const { status, issues = "" } = await answerWait(app, wait.token, given);
  const [http, message] = answered[status];
  return said(`${message} ${issues}`.trim(), runId, http);
}

/** Why a wait takes no answer: it has one, its time is over, or it is not there. */
async function notOpen(app: Service["app"], runId: string, key: string): Promise<Response> {
  const { rows, waits } = viewRun(await app.get(runId).entries());
  const known = waits.find((wait) => wait.key === key);
  const row = rows.find((each) => each.key === key);
  const isAnswered = known?.answered === true || row?.status === "completed";
  const why = isAnswered ? "duplicate" : row?.status === "expired" ? "expired" : null;
  if (why === null) return said(`Run ${runId} has no open wait "${key}".`, runId, 404);
  const [http, message] = answered[why];
  return said(message, runId, http);
}

export async function plan(service: Service, call: Call): Promise<Response> {
  return forkOf(service, call, async (run, options) => {
    const { blocked, ...rest } = await run.plan({ ...options, prices: service.prices });
    return json(200, { ...rest, blocked: blocked?.message ?? null } satisfies PlanReply);
  });
}

export async function forkRun(service: Service, call: Call): Promise<Response> {
  return forkOf(service, call, async (run, options) => {
    const { id } = await run.fork(options);
    return said("The fork was created.", id);
  });
}

async function forkOf(
  service: Service,
  { request, runId }: Call,
  act: (run: Run, options: ForkOptions) => Promise<Response>,
): Promise<Response> {
  const { label, ...options } = forkOptionsIn(
    await readBody(request, ["from", "after", "edit", "input", "prompts", "label"]),
  );
  const run = service.app.get(runId);
  const given = await allowFork(run, label === "" ? options : { ...options, label }, (action) =>
    allow(service, request, action),
  );
  assertCode(service, viewRun(await run.entries()).workflow);
  return act(run, given);
}

/** Ends the sleeps of a run. */
export async function wake(service: Service, { runId }: Call): Promise<Response> {
  const slept = await wakeRun(service.app, runId);
  if (slept.length === 0) throw new DurableError("conflict", `Run ${runId} does not sleep.`);
  return driveWithCode(service, runId, `The run was woken: ${slept.join(", ")}.`);
}

export async function cancel({ app }: Service, { request, runId }: Call): Promise<Response> {
  const outcome = await app.cancel(runId, { reason: await reasonIn(request) });
  const { status } = outcome;
  if ("cancelling" in outcome && outcome.cancelling !== undefined)
    return said("The run is cancelled, and cleans up.", runId);
  if ("failing" in outcome && outcome.failing !== undefined)
    return said("The run has failed before, and undoes its steps.", runId, 409);
  return status === "cancelled"
    ? said("The run was cancelled.", runId)
    : said(`The run had ended before: ${status}.`, runId, 409);
}
