/**
 * What is kept of a schedule: its definition, and how far it has come.
 *
 * record.1. The input is the only value of a user. With a cipher it is encrypted, and bound to the schedule and its workflow.
 * record.2. With a cipher the rest stays readable, for lists, and is sealed as a whole: a changed row starts and ends nothing.
 * record.3. A row names runs of its own ticks alone, whatever it says. A tick whose id another run has gets a longer one.
 */

import type { Cipher, Place } from "../ports/cipher.ts";
import type { StoredSchedule } from "../ports/schedules.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, describeError, otherFormat } from "../values/errors.ts";
import { digest } from "../values/hash.ts";
import { ticksOf, type Timing } from "./ticks.ts";

/** What happens to a tick while the run of the previous one has not ended. */
export type Overlap = "skip" | "allow" | "queue" | "cancel";
/** What happens to ticks that passed while no worker was there. */
export type Missed = "latest" | "skip" | "all";

export interface ScheduleDefinition {
  readonly workflow: string;
  readonly timing: Timing;
  readonly overlap: Overlap;
  readonly missed: Missed;
  /** The encoded input; with a cipher, the encrypted text of it. */
  readonly input: Json;
  readonly isSealed: boolean;
  /** Of all of the above, so that a deploy with the same definition writes nothing. */
  readonly fingerprint: string;
}

/** A tick, and the run that belongs to it. */
export interface Tick {
  readonly at: number;
  readonly runId: string;
}

export interface Schedule extends ScheduleDefinition {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly paused: boolean;
  /** Every tick up to this time is decided. */
  readonly after: number;
  /** The latest tick that has a run. */
  readonly last: Tick | null;
  /** A tick that was decided, and whose run may not exist yet; `cancels` is the run that ends first. */
  readonly pending: (Tick & { readonly cancels: string | null }) | null;
  /** A tick that waits until the run of the latest one has ended. */
  readonly queued: number | null;
}

const format = 1;

/** A schedule as the storage keeps it. */
export async function stored(
  schedule: Schedule,
  version: string,
  cipher: Cipher | null,
): Promise<StoredSchedule> {
  const { name, workflow, ...rest } = schedule;
  const content = { v: format, ...rest };
  // Nothing is hidden: the seal fits this content alone.
  const seal = cipher === null ? {} : { seal: await cipher.seal("", sealPlace(schedule, content)) };
  return { name, workflow, dueAt: dueAtOf(schedule), version, text: JSON.stringify({ ...content, ...seal }) };
}

/** A schedule as it is kept; with a cipher, only one that an owner of the key wrote. Without the key it can be shown. */
export async function openSchedule(
  row: StoredSchedule,
  cipher: Cipher | null,
  use: "show" | "act",
): Promise<Schedule> {
  const { seal, ...schedule } = readSchedule(row);
  if (seal !== undefined && cipher === null && use === "act")
    throw new DurableError("no-key", `Schedule ${row.name} is encrypted. Pass { encryption } to createApp.`);
  if (cipher !== null && !(seal === undefined && cipher.acceptsPlain)) {
    const { name: _, workflow: __, ...rest } = schedule;
    await cipher.open(seal ?? "", sealPlace(schedule, { v: format, ...rest })).catch((cause: unknown) => {
      if (!DurableError.is(cause, "tampered")) throw cause;
      throw new DurableError(
        "tampered",
        `Schedule ${row.name} was changed without the key, or is not sealed. Delete it, and define it again with app.schedule.`,
        { cause },
      );
    });
  }
  return schedule;
}

function sealPlace({ name, workflow }: Schedule, content: object): Place {
  return { runId: "", at: `schedule ${name} of ${workflow}, all of it: ${JSON.stringify(content)}` };
}

function readSchedule({ name, workflow, text }: StoredSchedule): Schedule & { readonly seal?: string } {
  let found: Schedule & { readonly v: number; readonly seal?: string };
  try {
    found = JSON.parse(text) as typeof found;
  } catch (cause) {
    throw new DurableError(
      "corrupt",
      `Schedule ${name} is damaged (${describeError(cause)}). Delete it, and define it again.`,
      { cause },
    );
  }
  const { v, ...rest } = found;
  if (v === format) return assertTicks({ ...rest, name, workflow });
  throw otherFormat(`Schedule ${name} has format`, v, {
    reads: format,
    instead: "Delete it, and define it again.",
  });
}

function assertTicks<S extends Schedule>(schedule: S): S {
  const { name, last, pending } = schedule;
  const isOwn = (tick: Tick | null): boolean => {
    if (tick === null) return true;
    const id = Math.abs(tick.at) <= 8.64e15 ? tickId(name, tick.at) : null;
    return id !== null && (tick.runId === id || String(tick.runId).startsWith(`${id}-`));
  };
  const { cancels = null } = pending ?? {};
  if (isOwn(last) && isOwn(pending) && (cancels === null || cancels === last?.runId)) return schedule;
  throw new DurableError(
    "corrupt",
    `Schedule ${name} names a run that is not one of its ticks. Delete it, and define it again.`,
  );
}

/** When a worker should check a schedule. */
function dueAtOf({ pending, queued, paused, timing, after }: Schedule): number | null {
  if (pending !== null) return 0;
  if (paused) return null;
  return queued === null ? ticksOf(timing).next(after) : 0;
}

/** The id of the run of a tick: the same in every process, so that a tick that is begun twice is still one run. */
export function tickId(schedule: string, at: number): string {
  const [seconds = ""] = new Date(at).toISOString().split(".");
  return `${schedule}-${seconds.replace(/[-:]/g, "")}Z`;
}

/** Encrypts the input of a definition, if there is a cipher, and computes its fingerprint. */
export async function sealDefinition(
  name: string,
  given: Omit<ScheduleDefinition, "fingerprint" | "isSealed">,
  cipher: Cipher | null,
): Promise<ScheduleDefinition> {
  const { input, ...rest } = given;
  const content = JSON.stringify([given]);
  // A plain hash of the input would let readers of the storage guess it.
  const fingerprint = cipher === null ? digest(16, content) : cipher.nameOf(content);
  if (cipher === null) return { ...rest, input, isSealed: false, fingerprint };
  const sealed = await cipher.seal(JSON.stringify(input), placeOf(name, given.workflow));
  return { ...rest, input: sealed, isSealed: true, fingerprint };
}

/** The encoded input. */
export async function openInput(
  { name, workflow, input, isSealed }: Schedule,
  cipher: Cipher | null,
): Promise<Json> {
  if (!isSealed) {
    if (cipher === null || cipher.acceptsPlain) return input;
    throw new DurableError(
      "tampered",
      `The input of schedule ${name} is not encrypted. Define the schedule again with app.schedule.`,
    );
  }
  if (cipher === null)
    throw new DurableError(
      "no-key",
      `The input of schedule ${name} is encrypted. Pass { encryption } to createApp.`,
    );
  return JSON.parse(await cipher.open(input as string, placeOf(name, workflow))) as Json;
}

function placeOf(name: string, workflow: string): { readonly runId: string; readonly at: string } {
  return { runId: "", at: `schedule ${name} of ${workflow}` };
}
