/**
 * What a person can do beside single runs: schedules, workers, limits, paused workflows, and the removal of old runs.
 * Proven in test/operate.test.ts.
 */

import type { EndStatus, PurgeOptions, ScheduleInfo } from "@durable/core";
import { fleetOf, limitUse, storageOf } from "@durable/core/tools";
import type { Operations, Purge } from "../api.ts";
import { json, Refusal } from "../errors.ts";
import type { Call, Service } from "../options.ts";
import { readBody, textIn } from "./request.ts";

/** One request removes at most this many runs, so that it ends. */
const mostPurged = 1_000;
const mostSchedules = 1_000;

/** Schedules, workers and limits in one answer: each is `null` where the storage does not keep it. */
export async function operations({ app }: Service): Promise<Response> {
  const storage = await storageOf(app);
  const [schedules, fleet, limits, paused] = await Promise.all([
    storage.schedules === undefined ? null : schedulesOf(app),
    fleetOf(app),
    limitUse(storage),
    app.paused(),
  ]);
  return json(200, { schedules, fleet, limits, paused, now: app.world.now() } satisfies Operations);
}

async function schedulesOf(app: Service["app"]): Promise<readonly ScheduleInfo[]> {
  return (await app.schedules.list({ limit: mostSchedules })).schedules;
}

export async function pauseSchedule(
  { app }: Service,
  { params: { schedule = "" } }: Call,
): Promise<Response> {
  await app.schedules.pause(schedule);
  return done(`${schedule} is paused.`);
}

export async function resumeSchedule(
  { app }: Service,
  { params: { schedule = "" } }: Call,
): Promise<Response> {
  await app.schedules.resume(schedule);
  return done(`${schedule} ticks again.`);
}

/** The run is recorded. Without the code of its workflow, the library refuses. */
export async function triggerSchedule(
  { app }: Service,
  { params: { schedule = "" } }: Call,
): Promise<Response> {
  const { id } = await app.schedules.trigger(schedule);
  return done("One more run is recorded. A worker drives it.", id);
}

export async function deleteSchedule(
  { app }: Service,
  { params: { schedule = "" } }: Call,
): Promise<Response> {
  await app.schedules.get(schedule);
  await app.schedules.delete(schedule);
  return done(`${schedule} is removed. Its runs stay.`);
}

export async function pauseWorkflow(
  { app }: Service,
  { request, params: { workflow = "" } }: Call,
): Promise<Response> {
  const reason = textIn(await readBody(request), "reason");
  await app.pause(workflow, reason === "" ? undefined : reason);
  return done(`Runs of ${workflow} are paused.`);
}

export async function unpauseWorkflow(
  { app }: Service,
  { params: { workflow = "" } }: Call,
): Promise<Response> {
  await app.unpause(workflow);
  return done(`Runs of ${workflow} continue.`);
}

function done(message: string, runId = ""): Response {
  return json(200, { message, runId });
}

/** Ages, statuses and tags are checked by the library. */
export async function purge({ app }: Service, { request }: Call): Promise<Response> {
  const body = await readBody(request);
  const { dryRun, status } = body;
  if (typeof dryRun !== "boolean") throw new Refusal("invalid-body", `"dryRun" must be true or false.`);
  if (!Array.isArray(status) || !status.every((each) => typeof each === "string"))
    throw new Refusal("invalid-body", `"status" must be a list of statuses.`);
  const workflow = textIn(body, "workflow");
  const options: PurgeOptions = {
    olderThan: textIn(body, "olderThan"),
    status: status as EndStatus[],
    workflow: workflow === "" ? undefined : workflow,
    limit: mostPurged,
    dryRun,
  };
  return json(200, { ...(await app.purge(options)), dryRun } satisfies Purge);
}
