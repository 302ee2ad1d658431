/** The routes of schedules: list, read, pause, resume, trigger, delete. Proven in test/schedules.test.ts. */

import type { ScheduleInfo } from "@durable/core";
import { json } from "./errors.ts";
import { allow, mayDo, type Service } from "./options.ts";
import { accepted, only } from "./replies.ts";
import { optionalMembers, queryOf, wholeIn } from "./request-fields.ts";
import type { Call } from "./router.ts";

/** How many of the next ticks a schedule is shown with. */
const shownTicks = 5;

export async function listSchedules(service: Service, { request, url }: Call): Promise<Response> {
  const query = queryOf(url, ["workflow", "limit", "cursor"]);
  const workflow = query.get("workflow");
  await allow(service, request, { type: "schedules", ...only("workflow", workflow) });
  const { schedules, next } = await service.app.schedules.list({
    limit: wholeIn(query, "limit", [1, 1_000]) ?? 50,
    ...only("workflow", workflow),
    ...only("cursor", query.get("cursor")),
  });
  return json(200, { schedules: await readableSchedules(service, request, schedules), next });
}

/** The schedules that a request may read. */
export async function readableSchedules(
  service: Service,
  request: Request,
  found: readonly ScheduleInfo[],
): Promise<readonly ScheduleInfo[]> {
  const allowed = found.map(({ name: schedule, workflow }) =>
    mayDo(service, request, { type: "schedules", schedule, workflow }),
  );
  const verdicts = await Promise.all(allowed);
  return found.filter((_, i) => verdicts[i] === true);
}

export async function readSchedule({ app }: Service, { url, params }: Call): Promise<Response> {
  queryOf(url, []);
  const name = params["schedule"] as string;
  const found = await app.schedules.get(name);
  const next = found.paused ? [] : await app.schedules.next(name, shownTicks);
  return json(200, { ...found, next });
}

/** A change takes no body, or an empty one. */
async function named({ limits }: Service, { request, params }: Call): Promise<string> {
  await optionalMembers(request, limits, []);
  return params["schedule"] as string;
}

export async function deleteSchedule(service: Service, call: Call): Promise<Response> {
  const name = await named(service, call);
  await service.app.schedules.delete(name);
  return json(200, { name, deleted: true });
}

export async function pauseSchedule(service: Service, call: Call): Promise<Response> {
  return json(200, await service.app.schedules.pause(await named(service, call)));
}

export async function unpauseSchedule(service: Service, call: Call): Promise<Response> {
  return json(200, await service.app.schedules.unpause(await named(service, call)));
}

export async function triggerSchedule(service: Service, call: Call): Promise<Response> {
  const run = await service.app.schedules.trigger(await named(service, call));
  return accepted(service, { runId: run.id, status: "running", repeated: run.repeated });
}
