/** The routes of schedules: list, read, pause, resume, trigger, delete. Proven in test/schedules.test.ts. */

import { DurableError } from "@durable/core";
import { json } from "./errors.ts";
import { type Call, refuse, type Service } from "./options.ts";
import { accepted, only } from "./replies.ts";
import { optionalMembers, queryOf, wholeIn } from "./request-fields.ts";

/** How many of the next ticks a schedule is shown with. */
const shownTicks = 5;

export async function listSchedules(service: Service, { request, url }: Call): Promise<Response> {
  const query = queryOf(url, ["workflow", "limit", "cursor"]);
  const workflow = query.get("workflow");
  const no = await refuse(service, request, { type: "schedules", ...only("workflow", workflow) });
  if (no !== null) return no;
  const { schedules, next } = await service.app.schedules.list({
    limit: wholeIn(query, "limit", [1, 1_000]) ?? 50,
    ...only("workflow", workflow),
    ...only("cursor", query.get("cursor")),
  });
  return json(200, { schedules: schedules, next });
}

export async function readSchedule(service: Service, { request, url, params }: Call): Promise<Response> {
  queryOf(url, []);
  const schedule = nameOf(params["name"]);
  const no = await refuse(service, request, { type: "schedules", schedule });
  if (no !== null) return no;
  const { schedules } = service.app;
  const found = await schedules.get(schedule);
  const next = found.paused ? [] : await schedules.next(schedule, shownTicks);
  return json(200, { ...found, next });
}

export async function deleteSchedule(service: Service, call: Call): Promise<Response> {
  return changed(service, call, "delete", async (name) => {
    await service.app.schedules.get(name);
    await service.app.schedules.delete(name);
    return json(200, { name, deleted: true });
  });
}

export async function pauseSchedule(service: Service, call: Call): Promise<Response> {
  return changed(service, call, "pause", async (name) => json(200, await service.app.schedules.pause(name)));
}

export async function resumeSchedule(service: Service, call: Call): Promise<Response> {
  return changed(service, call, "resume", async (name) =>
    json(200, await service.app.schedules.resume(name)),
  );
}

export async function triggerSchedule(service: Service, call: Call): Promise<Response> {
  return changed(service, call, "trigger", async (name) => {
    const run = await service.app.schedules.trigger(name);
    return accepted(service, { runId: run.id, status: "running", created: run.created });
  });
}

async function changed(
  service: Service,
  { request, params }: Call,
  change: "pause" | "resume" | "trigger" | "delete",
  work: (name: string) => Promise<Response>,
): Promise<Response> {
  const schedule = nameOf(params["name"]);
  const no = await refuse(service, request, { type: "schedule", schedule, change });
  if (no !== null) return no;
  await optionalMembers(request, service.limits, []);
  return work(schedule);
}

/** The library's rule for names of schedules. */
function nameOf(given: string | undefined): string {
  if (given !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(given)) return given;
  throw new DurableError(
    "invalid-id",
    'Invalid name of a schedule. Use 1 to 100 letters, digits, "-" and "_", beginning with a letter or a digit.',
  );
}
