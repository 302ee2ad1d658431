/**
 * Starts the runs of due ticks. Proven in test/schedules/fire.test.ts and test/schedules/year.test.ts.
 *
 * fire.1. A tick is decided by one compare-and-swap, which moves the cursor and names the run. Only then is the run created,
 *     under an id that follows from the tick. So a crash in between loses no tick: whichever worker comes next creates the run.
 * fire.2. No tick is decided before the run of the previous one exists. So a tick has at most one run, and the rule for overlaps
 *     sees every run that came before.
 * fire.3. A schedule that cannot start its run keeps its place: the tick stays pending and is tried again. So does one whose
 *     tick cancels a run, until that run has cleaned up.
 * fire.4. A run counts as the run of a tick only if its journal says that this schedule started it. If another run has the
 *     id, that is decided like a tick, and the tick gets a longer id.
 */

import { decode } from "../values/codec/decode.ts";
import { DurableError } from "../values/errors.ts";
import { locatorOf } from "../journal/keys.ts";
import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "../ports/schedules.ts";
import { beyondEnd, hasEnded } from "../ports/storage-kit.ts";
import { create } from "../runs/create.ts";
import { cancelRun } from "../runs/drive.ts";
import type { Host } from "../runs/host.ts";
import { openJournal } from "../runs/lookup.ts";
import { openInput, openSchedule, stored, tickId, type Schedule, type Tick } from "./record.ts";
import { ticksOf } from "./ticks.ts";

/** Missed ticks that `missed: "all"` makes up for: the latest ones. */
export const mostMissed = 100;
/** A tick that is later than this was missed. */
export const lateMs = 300_000;
/** Schedules that are brought up to date at the same time. */
const atOnce = 8;

/** What came of due schedules. */
export interface Fired {
  /** Runs that were started here. */
  readonly started: readonly string[];
  /** Schedules that could not start their run. */
  readonly failed: readonly { readonly schedule: string; readonly error: unknown }[];
}

/** What came of one check of the schedules. */
export interface Look extends Fired {
  /** When to check again. */
  readonly nextAt: number | null;
}

/** A schedule that is due and makes no progress is checked again after this time. */
const retryMs = 5_000;

/** Fires the due ones among the schedules found, and says when to check again, within the time of the query. */
export async function fireFound(
  host: Host,
  store: ScheduleStore,
  look: {
    readonly found: readonly StoredSchedule[];
    readonly query: StoredScheduleQuery;
    readonly now: number;
  },
): Promise<Look> {
  const { found, query, now } = look;
  const isDue = ({ dueAt }: StoredSchedule): boolean => (dueAt ?? Infinity) <= now;
  const due = found.filter(isDue);
  const fired = await fire(host, { store, due, signal: query.signal });
  if (query.dueAt === now) return { ...fired, nextAt: null };
  const tried = new Set(due.map(({ name }) => name));
  // One that was due before and still is waits for a run to end, or cannot start its own.
  const times = (await store.list(query)).map((row) =>
    isDue(row) && tried.has(row.name) ? now + retryMs : (row.dueAt ?? Infinity),
  );
  return { ...fired, nextAt: times.length === 0 ? null : Math.min(...times) };
}

interface Firing {
  readonly store: ScheduleStore;
  readonly due: readonly StoredSchedule[];
  readonly signal: AbortSignal | undefined;
}

/** Brings due schedules up to date. Workers that find the same ones begin with different ones. */
async function fire(host: Host, { store, due, signal }: Firing): Promise<Fired> {
  const started: string[] = [];
  const failed: { schedule: string; error: unknown }[] = [];
  const first = due.length > 1 ? Math.floor(host.world.random() * due.length) : 0;
  const queue = [...due.slice(first), ...due.slice(0, first)].values();
  const one = async (): Promise<void> => {
    for (const row of queue) {
      try {
        await bringUp(host, store, row, (runId) => started.push(runId));
      } catch (error) {
        failed.push({ schedule: row.name, error });
      }
      if (signal?.aborted === true) return;
    }
  };
  await Promise.all(Array.from({ length: signal === undefined ? Math.min(atOnce, due.length) : 1 }, one));
  return { started, failed };
}

/** Decides the due ticks of one schedule, one after the other, and starts their runs; `onStart` gets those that were new. */
export async function bringUp(
  host: Host,
  store: ScheduleStore,
  found: StoredSchedule,
  onStart: (runId: string) => void = () => {},
): Promise<void> {
  for (let row: StoredSchedule | null = found; row !== null;) {
    const { cipher = null } = await host.journals();
    const schedule = await openSchedule(row, cipher, "act");
    const { pending } = schedule;
    const started = pending !== null && (await begin(host, schedule, pending));
    if (started === null) return;
    if (started === true && pending !== null) onStart(pending.runId);
    const next =
      started === "taken"
        ? moved(host, schedule)
        : pending === null
          ? await decide(host, schedule)
          : begun(schedule, pending);
    if (next === null) return;
    const written = await stored(next, host.world.id(), cipher);
    row = (await store.put(written, row.version)) ? written : await store.get(row.name);
  }
}

/** The schedule after its next decision; `null` when nothing is due. */
async function decide(host: Host, schedule: Schedule): Promise<Schedule | null> {
  const { name, timing, missed, overlap, last, queued } = schedule;
  if (schedule.paused) return null;
  if (queued !== null) {
    const free = await isOver(host, last);
    return free ? { ...schedule, queued: null, pending: pendingOf(name, queued) } : null;
  }
  const now = host.world.now();
  const due = ticksOf(timing).last(schedule.after, now, mostMissed);
  const newest = due.at(-1);
  if (newest === undefined) return null;
  const at = missed === "all" ? (due[0] ?? newest) : newest;
  const next = { ...schedule, after: at };
  if (missed === "skip" && now - at > lateMs) return next;
  if (overlap === "allow" || (await isOver(host, last))) return { ...next, pending: pendingOf(name, at) };
  if (overlap === "skip") return next;
  if (overlap === "queue") return { ...next, queued: at };
  return { ...next, pending: pendingOf(name, at, last) };
}

function pendingOf(name: string, at: number, cancels: Tick | null = null): NonNullable<Schedule["pending"]> {
  return { at, runId: tickId(name, at), cancels: cancels?.runId ?? null };
}

function begun(schedule: Schedule, { at, runId }: Tick): Schedule {
  return { ...schedule, pending: null, last: { at, runId } };
}

/** The tick is decided again, under an id that no caller can foresee. */
function moved({ world }: Host, schedule: Schedule): Schedule {
  const pending = schedule.pending as NonNullable<Schedule["pending"]>;
  const runId = `${tickId(schedule.name, pending.at)}-${world.id()}`;
  world.warn(
    `run ${pending.runId} has the id of a tick of schedule ${schedule.name}, which did not start it. The tick starts as ${runId}.`,
  );
  return { ...schedule, pending: { ...pending, runId } };
}

/**
 * Creates the run of a decided tick, if it does not exist; true when it did not. A worker or a sweep drives it. `null` while
 * the run that the tick cancels cleans up: the tick stays pending. `taken` when another run has the id.
 */
async function begin(
  host: Host,
  schedule: Schedule,
  { runId, cancels }: NonNullable<Schedule["pending"]>,
): Promise<boolean | "taken" | null> {
  const before = cancels === null ? null : await openJournal(host, locatorOf(cancels));
  if (before !== null && before.schedule === schedule.name) {
    await cancelRun(host, before, { reason: `Schedule ${schedule.name} starts ${runId}.` });
    if (before.state.end === null) return null;
  }
  return startRun(host, schedule, runId);
}

/** Records a run of a schedule; false when it exists, and `taken` when another run has the id. */
export async function startRun(host: Host, schedule: Schedule, id: string): Promise<boolean | "taken"> {
  const { name, workflow } = schedule;
  const definition = host.find(workflow);
  if (definition === null)
    throw new DurableError(
      "unknown-workflow",
      `Schedule ${name} starts workflow "${workflow}", which is not known here. Add it to createApp({ workflows }).`,
    );
  const { cipher = null } = await host.journals();
  const input = decode(await openInput(schedule, cipher), `input of schedule ${name}`);
  try {
    const given = { id, isNew: true, takeLease: false, schedule: name };
    const { created } = await create(host, definition, input, given);
    if (created) return true;
  } catch (error) {
    if (!DurableError.is(error, "input-mismatch") && !DurableError.is(error, "run-exists")) throw error;
  }
  // The definition may have changed since the tick got its run.
  const found = await openJournal(host, locatorOf(id));
  return found === null || found.schedule === name ? false : "taken";
}

/** True when the run of a tick has ended, or is gone. */
async function isOver(host: Host, tick: Tick | null): Promise<boolean> {
  if (tick === null) return true;
  const storage = await host.storage();
  const locator = locatorOf(tick.runId);
  // Only the head is needed, and most storages return it without a batch.
  const { head, length, deleted } = await storage.read(locator, beyondEnd);
  if (length === 0 || deleted === true) return true;
  if (head !== undefined) return hasEnded(head);
  const journal = await openJournal(host, locator);
  return journal === null || journal.state.end !== null;
}
