/**
 * What a person can do beside single runs: schedules, workers, limits, paused workflows, and the removal of old runs.
 * Proven in test/operate.test.ts.
 */

import type { PurgeOptions, ScheduleInfo, Duration } from "@durable/core";
import type { EndStatus } from "@durable/core/types";
import { HttpError } from "@durable/http";
import { allow, type Call, json, mayDo, readableSchedules, textIn } from "@durable/http/kit";
import { declaredLimits, fleetOf, limitUse, quotaUse, storageOf, underWay } from "@durable/core/inspect";
import type { Operations, Purge } from "../api.ts";
import type { Service } from "../options.ts";
import { readBody, reasonIn, said } from "./request.ts";

/** One request removes at most this many runs, so that it ends. */
const mostPurged = 1_000;
const mostSchedules = 1_000;
const mostDoing = 200;

/** Schedules, workers and limits in one answer: each is `null` where the storage does not keep it. */
export async function operations(service: Service, { request }: Call): Promise<Response> {
  const { app } = service;
  const storage = await storageOf(app);
  const [schedules, fleet, limits, quotas, paused, doing] = await Promise.all([
    storage.schedules === undefined ? null : schedulesOf(service, request),
    fleetOf(app),
    limitUse(storage),
    quotaUse(app),
    app.paused(),
    doingOf(service, request),
  ]);
  const known = [
    ...service.code,
    ...fleet.load.map(({ workflow }) => workflow),
    ...(fleet.workers ?? []).flatMap(({ workflows }) => workflows),
    ...(schedules ?? []).map(({ workflow }) => workflow),
  ];
  const workflows = [...new Set(known)].filter((name) => name !== "").toSorted();
  const declared = declaredLimits(app);
  const reply = {
    schedules,
    fleet,
    limits,
    declared,
    quotas,
    paused,
    doing,
    workflows,
    now: app.world.now(),
  };
  return json(200, reply satisfies Operations);
}

/** Calls under way of runs that may be read; those that began first come first. */
async function doingOf({ app, ...service }: Service, request: Request): Promise<Operations["doing"]> {
  const all = [...(await underWay(app))].slice(0, mostDoing);
  const allowed = all.map(async ([runId, calls]) =>
    (await mayDo({ app, ...service }, request, { type: "read", runId })) ? calls : [],
  );
  return (await Promise.all(allowed)).flat().toSorted((a, b) => a.since - b.since);
}

async function schedulesOf(service: Service, request: Request): Promise<readonly ScheduleInfo[]> {
  const { schedules } = await service.app.schedules.list({ limit: mostSchedules });
  return readableSchedules(service, request, schedules);
}

type Schedules = Service["app"]["schedules"];

const schedule =
  (work: (schedules: Schedules, name: string) => Promise<Response>) =>
  ({ app }: Service, { params }: Call): Promise<Response> =>
    work(app.schedules, params["schedule"] ?? "");

export const pauseSchedule = schedule(async (schedules, name) => {
  await schedules.pause(name);
  return said(`${name} is paused.`);
});

export const unpauseSchedule = schedule(async (schedules, name) => {
  await schedules.unpause(name);
  return said(`${name} ticks again.`);
});

/** The run is recorded. Without the code of its workflow, the library refuses. */
export const triggerSchedule = schedule(async (schedules, name) => {
  const { id } = await schedules.trigger(name);
  return said("One more run is recorded. A worker drives it.", id);
});

export const deleteSchedule = schedule(async (schedules, name) => {
  await schedules.delete(name);
  return said(`${name} is removed. Its runs stay.`);
});

export async function pauseWorkflow({ app }: Service, { request, params }: Call): Promise<Response> {
  const { workflow = "" } = params;
  await app.pause(workflow, { reason: await reasonIn(request) });
  return said(`Runs of ${workflow} are paused.`);
}

export async function unpauseWorkflow({ app }: Service, { params }: Call): Promise<Response> {
  const { workflow = "" } = params;
  await app.unpause(workflow);
  return said(`Runs of ${workflow} continue.`);
}

/** Ages, statuses and tags are checked by the library. */
export async function purge(service: Service, { request }: Call): Promise<Response> {
  const body = await readBody(request, ["olderThan", "status", "workflow", "dryRun"]);
  const { dryRun, status } = body;
  const workflow = textIn(body, "workflow") || undefined;
  await allow(service, request, { type: "purge", ...(workflow === undefined ? {} : { workflow }) });
  if (typeof dryRun !== "boolean") throw new HttpError("invalid-body", `"dryRun" must be true or false.`);
  if (!Array.isArray(status) || !status.every((each) => typeof each === "string"))
    throw new HttpError("invalid-body", `"status" must be a list of statuses.`);
  const options: PurgeOptions = {
    olderThan: textIn(body, "olderThan") as Duration | undefined,
    status: status as EndStatus[],
    workflow,
    limit: mostPurged,
    dryRun,
  };
  return json(200, { ...(await service.app.purge(options)), dryRun } satisfies Purge);
}
