/**
 * Defines, lists, pauses and removes schedules. Each change is a compare-and-swap on the stored schedule, so that changes
 * and ticks follow one another, whichever process makes them.
 *
 * manage.1. Defining a schedule again with the same definition writes nothing. A changed one keeps its pause, and its cursor
 *     while it ticks at the same times; otherwise the ticks that are due by the old times start first.
 */

import { encode } from "../values/codec/encode.ts";
import { encodeInput } from "../runs/lookup.ts";
import { DurableError, show } from "../values/errors.ts";
import type { ScheduleStore, StoredSchedule } from "../ports/schedules.ts";
import type { Host } from "../runs/host.ts";
import { Run } from "../run.ts";
import { assertOptions } from "../values/options.ts";
import { pageSize } from "../ports/storage-kit.ts";
import type { ScheduleInfo, ScheduleOptions, SchedulePage, ScheduleQuery } from "./types.ts";
import { bringUp, startRun } from "./fire.ts";
import { openSchedule, sealDefinition, stored, type Schedule } from "./record.ts";
import { ticksOf, timingOf } from "./ticks.ts";

export { fireFound } from "./fire.ts";

/** Size of the text of an input. It is read with every tick and every list. */
const inputBytes = 65_536;
const mostNext = 1_000;

const overlaps = ["skip", "allow", "queue", "cancel"] as const;
const misses = ["latest", "skip", "all"] as const;

export async function define(
  host: Host,
  name: string,
  workflow: string,
  options: ScheduleOptions,
): Promise<ScheduleInfo> {
  assertScheduleName(name);
  const where = `app.schedule("${name}", ...)`;
  assertOptions(options, "cron every timezone input overlap missed", where);
  const definition = await definitionOf(host, name, workflow, options);
  const store = await storeOf(host);
  const { cipher = null } = await host.journals();
  const { fingerprint, timing } = definition;
  for (let isUp = false; ;) {
    const row = await store.get(name);
    const before = row === null ? null : await openSchedule(row, cipher, "act");
    if (before?.fingerprint === fingerprint) return infoOf(before);
    const now = host.world.now();
    const keeps = before !== null && JSON.stringify(before.timing) === JSON.stringify(timing);
    if (row !== null && !keeps && !isUp && host.find(row.workflow) !== null) {
      await bringUp(host, store, row);
      isUp = true;
      continue;
    }
    const progress = before ?? { createdAt: now, paused: false, last: null, pending: null, queued: null };
    const after = before === null ? now : keeps ? before.after : Math.max(before.after, now);
    const next = { ...progress, ...definition, name, after, updatedAt: now };
    const written = await stored(next, host.world.id(), cipher);
    if (await store.put(written, row?.version ?? null)) return infoOf(next);
  }
}

async function definitionOf(
  host: Host,
  name: string,
  workflow: string,
  options: ScheduleOptions,
): ReturnType<typeof sealDefinition> {
  const code = host.find(workflow);
  if (code === null)
    throw new DurableError(
      "unknown-workflow",
      `Schedule ${name} is for workflow ${show(workflow)}, which this app does not have. Add it to createApp({ workflows }).`,
    );
  const { overlap = "skip", missed = "latest" } = options;
  assertOneOf(overlap, overlaps, "overlap");
  assertOneOf(missed, misses, "missed");
  // A wrong input fails when the program starts, not at the first tick.
  await encodeInput(code, options.input);
  const input = encode(options.input, `input of schedule ${name}`, inputBytes);
  const { cipher = null } = await host.journals();
  return sealDefinition(name, { workflow, timing: timingOf(options), overlap, missed, input }, cipher);
}

export async function list(host: Host, query: ScheduleQuery = {}): Promise<SchedulePage> {
  assertOptions(query, "workflow limit cursor", "app.schedules.list");
  const { workflow, cursor } = query;
  const limit = pageSize(query.limit);
  const rows = await (
    await storeOf(host)
  ).list({
    workflow: workflow === undefined ? undefined : [workflow],
    after: cursor ?? undefined,
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.name ?? null) : null;
  const found = await Promise.all(page.map((row) => opened(host, row, "show")));
  return { schedules: found.map(infoOf), next };
}

export async function get(host: Host, name: string): Promise<ScheduleInfo> {
  return infoOf((await read(host, name, "show")).schedule);
}

export function pause(host: Host, name: string): Promise<ScheduleInfo> {
  return change(host, name, (schedule) => (schedule.paused ? null : { ...schedule, paused: true }));
}

/** Ticks that passed during the pause do not start. */
export function unpause(host: Host, name: string): Promise<ScheduleInfo> {
  return change(host, name, (schedule) => {
    const after = Math.max(schedule.after, host.world.now());
    return schedule.paused ? { ...schedule, paused: false, after, queued: null } : null;
  });
}

async function change(
  host: Host,
  name: string,
  changed: (schedule: Schedule) => Schedule | null,
): Promise<ScheduleInfo> {
  const store = await storeOf(host);
  for (;;) {
    const { row, schedule } = await read(host, name, "act");
    const next = changed(schedule);
    if (next === null) return infoOf(schedule);
    const written = { ...next, updatedAt: host.world.now() };
    const { cipher = null } = await host.journals();
    if (await store.put(await stored(written, host.world.id(), cipher), row.version)) return infoOf(written);
  }
}

/** Removes a schedule. */
export async function remove(host: Host, name: string): Promise<void> {
  const store = await storeOf(host);
  let row = await store.get(name);
  if (row === null) throw noSchedule(name);
  // Another process may change it, or delete it first.
  while (row !== null && !(await store.delete(name, row.version))) row = await store.get(name);
}

export async function next(host: Host, name: string, count = 1): Promise<number[]> {
  const { schedule } = await read(host, name, "show");
  if (!(count >= 1 && count <= mostNext))
    throw new DurableError(
      "invalid-options",
      `app.schedules.next got the count ${show(count)}. Use 1 to ${mostNext}.`,
    );
  const ticks = ticksOf(schedule.timing);
  const found: number[] = [];
  for (let at: number | null = Math.max(schedule.after, host.world.now()); found.length < count;) {
    at = ticks.next(at);
    if (at === null) break;
    found.push(at);
  }
  return found;
}

/** Records one more run with the input of a schedule, now. */
export async function trigger(host: Host, name: string): Promise<Run> {
  const { schedule } = await read(host, name, "act");
  const id = `${name}-${host.world.id()}`;
  const repeated = (await startRun(host, schedule, id)) !== true;
  return new Run(id, { host, repeated });
}

async function opened(host: Host, row: StoredSchedule, use: "show" | "act"): Promise<Schedule> {
  const { cipher = null } = await host.journals();
  return openSchedule(row, cipher, use);
}

async function read(
  host: Host,
  name: string,
  use: "show" | "act",
): Promise<{
  readonly row: Awaited<ReturnType<ScheduleStore["get"]>> & object;
  readonly schedule: Schedule;
}> {
  const row = await (await storeOf(host)).get(name);
  if (row !== null) return { row, schedule: await opened(host, row, use) };
  throw noSchedule(name);
}

function noSchedule(name: string): DurableError {
  return new DurableError(
    "not-found",
    `There is no schedule ${show(name)}. app.schedules.list() has them all.`,
  );
}

export async function storeOf(host: Host): Promise<ScheduleStore> {
  const { schedules } = await host.storage();
  if (schedules !== undefined) return schedules;
  throw new DurableError("invalid-options", "This storage does not keep schedules. Use another storage.");
}

function infoOf(schedule: Schedule): ScheduleInfo {
  const { name, workflow, timing, overlap, missed, paused, after, last, queued, createdAt, updatedAt } =
    schedule;
  return {
    name,
    workflow,
    cron: "cron" in timing ? timing.cron : null,
    timezone: "cron" in timing ? timing.timezone : null,
    every: "every" in timing ? timing.every : null,
    overlap,
    missed,
    paused,
    nextAt: paused ? null : ticksOf(timing).next(after),
    queuedAt: queued,
    lastAt: last?.at ?? null,
    lastRunId: last?.runId ?? null,
    createdAt,
    updatedAt,
  };
}

function assertOneOf(value: unknown, known: readonly string[], what: string): void {
  if (known.includes(value as string)) return;
  throw new DurableError(
    "invalid-options",
    `\`${what}\` is ${show(value)}. Use one of ${known.map(show).join(", ")}.`,
  );
}

/** The name begins the ids of runs, with a time or an id after it. */
function assertScheduleName(name: unknown): asserts name is string {
  if (typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(name)) return;
  throw new DurableError(
    "invalid-name",
    `A schedule has the invalid name ${show(name)}. Use 1 to 100 letters, digits, "-" and "_", beginning with a letter or a digit.`,
  );
}
