/** The routes of operators: pause, unpause, retry and score a run, pause and unpause a workflow. Proven in test/steer.test.ts. */

import type { RetryRunOptions } from "@durable/core/types";
import { readJson } from "./body.ts";
import { json } from "./errors.ts";
import type { Service } from "./options.ts";
import { only } from "./replies.ts";
import { durationIn, listIn, membersOf, optionalMembers, queryOf, textIn } from "./request-fields.ts";
import type { Call } from "./router.ts";
import { outcomeOf } from "./runs.ts";

export async function pauseRun(service: Service, { request, runId }: Call): Promise<Response> {
  const members = await optionalMembers(request, service.limits, ["reason"]);
  return json(
    200,
    outcomeOf(await service.app.get(runId).pause({ reason: textIn(members, "reason") }), false),
  );
}

export async function unpauseRun(service: Service, { request, runId }: Call): Promise<Response> {
  await optionalMembers(request, service.limits, []);
  return json(200, outcomeOf(await service.app.get(runId).unpause(), false));
}

export async function retryRun(service: Service, { request, runId }: Call): Promise<Response> {
  const members = await optionalMembers(request, service.limits, ["deadline", "steps"]);
  const options: RetryRunOptions = {
    ...only("deadline", durationIn(members, "deadline")),
    ...only("steps", listIn(members, "steps")),
  };
  return json(200, outcomeOf(await service.app.get(runId).retry(options), false));
}

export async function scoreRun(service: Service, { request, runId }: Call): Promise<Response> {
  const members = membersOf(await readJson(request, service.limits), ["name", "value", "note"]);
  const { name = "", value } = { name: textIn(members, "name"), value: members["value"] };
  // Checked there, with a message that says what fits.
  const scores = await service.app.get(runId).score(name, value as number, textIn(members, "note"));
  return json(200, { runId, scores });
}

export async function pauseWorkflow(service: Service, { request, params }: Call): Promise<Response> {
  const workflow = params["workflow"] ?? "";
  const members = await optionalMembers(request, service.limits, ["reason"]);
  await service.app.pause(workflow, { reason: textIn(members, "reason") });
  return pausedNow(service, workflow);
}

export async function unpauseWorkflow(service: Service, { request, params }: Call): Promise<Response> {
  const workflow = params["workflow"] ?? "";
  await optionalMembers(request, service.limits, []);
  await service.app.unpause(workflow);
  return pausedNow(service, workflow);
}

export async function listPaused(service: Service, { url }: Call): Promise<Response> {
  queryOf(url, []);
  return pausedNow(service);
}

/** Pauses of all workflows, or of this one: a client that may pause it may not see the others. */
async function pausedNow({ app }: Service, only?: string): Promise<Response> {
  const paused = (await app.paused()).filter(({ workflow }) => only === undefined || workflow === only);
  return json(200, { paused: paused.map(({ workflow, reason, since }) => ({ workflow, reason, since })) });
}
