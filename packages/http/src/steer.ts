/** The routes of operators: pause, unpause and retry a run, pause and unpause a workflow. Proven in test/steer.test.ts. */

import type { RetryRunOptions } from "@durable/core";
import { HttpError, json } from "./errors.ts";
import { refuse, type Call, type Service } from "./options.ts";
import { only } from "./replies.ts";
import { optionalMembers, queryOf, runIdOf, textIn } from "./request-fields.ts";
import { outcomeOf } from "./runs.ts";

export async function pauseRun(service: Service, { request, params }: Call): Promise<Response> {
  const runId = runIdOf(params["runId"]);
  const no = await refuse(service, request, { type: "pause", runId });
  if (no !== null) return no;
  const members = await optionalMembers(request, service.limits, ["reason"]);
  return json(200, outcomeOf(await service.app.get(runId).pause(textIn(members, "reason")), false));
}

export async function unpauseRun(service: Service, { request, params }: Call): Promise<Response> {
  const runId = runIdOf(params["runId"]);
  const no = await refuse(service, request, { type: "unpause", runId });
  if (no !== null) return no;
  await optionalMembers(request, service.limits, []);
  return json(200, outcomeOf(await service.app.get(runId).unpause(), false));
}

export async function retryRun(service: Service, { request, params }: Call): Promise<Response> {
  const runId = runIdOf(params["runId"]);
  const no = await refuse(service, request, { type: "retry", runId });
  if (no !== null) return no;
  const { deadline, steps } = await optionalMembers(request, service.limits, ["deadline", "steps"]);
  const options: RetryRunOptions = {
    ...only("deadline", durationOf(deadline)),
    ...only("steps", namesOf(steps)),
  };
  return json(200, outcomeOf(await service.app.get(runId).retry(options), false));
}

function namesOf(given: unknown): readonly string[] | undefined {
  if (given === undefined) return undefined;
  if (Array.isArray(given) && given.every((name) => typeof name === "string")) return given;
  throw new HttpError("invalid-body", '"steps" must be a list of names or keys of failed steps.');
}

function durationOf(given: unknown): string | number | undefined {
  if (given === undefined || typeof given === "string" || typeof given === "number") return given;
  throw new HttpError("invalid-body", '"deadline" must be a duration: a number of milliseconds, or a text.');
}

export async function pauseWorkflow(service: Service, { request, params }: Call): Promise<Response> {
  const workflow = params["workflow"] ?? "";
  const no = await refuse(service, request, { type: "pause", workflow });
  if (no !== null) return no;
  const members = await optionalMembers(request, service.limits, ["reason"]);
  await service.app.pause(workflow, textIn(members, "reason"));
  return pausedNow(service);
}

export async function unpauseWorkflow(service: Service, { request, params }: Call): Promise<Response> {
  const workflow = params["workflow"] ?? "";
  const no = await refuse(service, request, { type: "unpause", workflow });
  if (no !== null) return no;
  await optionalMembers(request, service.limits, []);
  await service.app.unpause(workflow);
  return pausedNow(service);
}

export async function listPaused(service: Service, { request, url }: Call): Promise<Response> {
  queryOf(url, []);
  const no = await refuse(service, request, { type: "list" });
  return no ?? pausedNow(service);
}

async function pausedNow({ app }: Service): Promise<Response> {
  const paused = await app.paused();
  return json(200, { paused: paused.map(({ workflow, reason, since }) => ({ workflow, reason, since })) });
}
