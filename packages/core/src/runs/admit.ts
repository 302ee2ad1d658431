/** Whether a run may be driven now, by whom, and what becomes of one that may not. The rules are those of flow.ts. */

import type { Definition } from "../engine/definition.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { AdvanceOptions, Stop } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";
import { turnIn } from "../journal/kinds.ts";
import type { Outcome } from "../journal/outcome.ts";
import type { WorkflowPause } from "../ports/storage.ts";
import { pause } from "../ports/world.ts";
import { decode } from "../values/codec/decode.ts";
import { DurableError, show } from "../values/errors.ts";
import { acquire, type LeasedRun } from "./create.ts";
import { isDebounced, isUnbegun, written } from "./flow.ts";
import type { Host } from "./host.ts";
import { giveTurnBack, rateOf, returnUse, takeRate, type Taken } from "./rate.ts";

/** Who drives a run: a worker finds due runs by itself, and can be asked to stop; a caller needs this run. */
export interface Driver extends AdvanceOptions {
  readonly role: "caller" | "worker";
  /** It waits while the limits of the run do not admit it. */
  readonly waits: boolean;
}

export const caller: Driver = { role: "caller", waits: false };
export const waitingCaller: Driver = { role: "caller", waits: true };

/** Who gives these options: only a worker has a signal that stops it. */
export function driverOf(options: AdvanceOptions): Driver {
  return { ...options, role: options.signal === undefined ? "caller" : "worker", waits: false };
}

/** What came of a drive. The outcome is read from it where it is needed: it has the waits of all open children. */
export type Driven =
  | { readonly kind: "stopped"; readonly journal: RunJournal; readonly stop: Stop }
  /** It was left as it is: it had ended, is paused, or its time has not come. */
  | {
      readonly kind: "left";
      readonly journal: RunJournal;
      readonly recorded: boolean;
      readonly pause?: WorkflowPause;
    }
  /** Another process drives it, or it waits for its turn. */
  | { readonly kind: "running"; readonly journal: RunJournal }
  | { readonly kind: "poison"; readonly outcome: Outcome<unknown> };

/** A run that may be driven, if its lease was granted; or what came of one that may not. */
export type Admitted =
  | { readonly kind: "go"; readonly leased: LeasedRun }
  | { readonly kind: "stop"; readonly driven: Driven };

interface Admission {
  readonly host: Host;
  readonly definition: Definition;
  readonly journal: RunJournal;
  readonly driver: Driver;
}

/** Takes the lease of a run, if it may be driven now. */
export async function admit(given: Admission, run: RunJournal | LeasedRun): Promise<Admitted> {
  const { host, definition, journal, driver } = given;
  const { world } = host;
  const { waits, maxStarts } = driver;
  const take = (): Promise<LeasedRun> => acquire(host, journal, maxStarts, definition);
  const known = "lease" in run ? run : null;
  if (definition.flow === undefined && journal.state.summary.flow === undefined)
    return { kind: "go", leased: known ?? (await take()) };
  const first = known?.owned === true || known?.lease.full === true ? known : null;
  for (let leased: LeasedRun | null = first; ; leased = null) {
    const early = (isUnbegun(journal) ? (journal.state.summary.flow?.startAt ?? 0) : 0) - world.now();
    if (early > 0 && journal.state.end === null) {
      await leased?.lease.release(restMs(journal, early));
      if (!waits || early > host.patienceMs)
        return { kind: "stop", driven: { kind: "left", journal, recorded: false } };
      await host.changed(journal, world.now() + early);
      await journal.refresh();
      continue;
    }
    if (waits && leased?.owned !== true) leased = await inLine(given, take);
    leased ??= await take();
    const isOver = journal.state.end !== null || journal.lost || leased.starts > (maxStarts ?? Infinity);
    if (!leased.owned || isOver || !isUnbegun(journal)) return { kind: "go", leased };
    // Before it begins, so that it takes no rate, and a debounced one can still be moved.
    const left = await leftAlone(host, definition, leased, driver);
    if (left !== null) return { kind: "stop", driven: left };
    const { lease } = leased;
    const begins = await begin(given, leased).catch(async (error: unknown) => {
      await lease.release();
      throw error;
    });
    if (begins.kind === "now") return { kind: "go", leased };
    if (begins.kind === "again") continue;
    if (!waits) return { kind: "stop", driven: { kind: "running", journal } };
    await pause(world, begins.inMs);
  }
}

/** Gives the lease of a run back that is paused, or of a paused workflow; `null` for any other. */
export async function leftAlone(
  host: Host,
  definition: Definition,
  { journal, lease }: LeasedRun,
  { versions }: Driver,
): Promise<Driven | null> {
  const left = { kind: "left", journal, recorded: false } as const;
  if (journal.state.paused !== null) {
    await lease.release();
    return left;
  }
  const { runId, first } = journal;
  const { version } = first;
  if (versions?.includes(version as string) === false) {
    // The start does not count.
    await lease.giveBack();
    throw new DurableError(
      "other-version",
      `Run ${runId} has version ${show(version)}, and is left to a driver of that version. This one drives: ${versions.join(", ")}.`,
      { details: { version } },
    );
  }
  try {
    const paused = (await host.pauses?.of(definition.name)) ?? null;
    if (paused === null) return null;
    await lease.release();
    return { ...left, pause: paused };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** What becomes of a run that has not begun: it begins, must be read again, or has its turn later. */
type Begins =
  | { readonly kind: "now" }
  | { readonly kind: "again" }
  | { readonly kind: "later"; readonly inMs: number };

async function begin({ host, definition, journal }: Admission, { lease }: LeasedRun): Promise<Begins> {
  const early = (journal.state.summary.flow?.startAt ?? 0) - host.world.now();
  if (early > 0) {
    await lease.release(restMs(journal, early));
    return { kind: "again" };
  }
  const turn = turnIn(journal.entries);
  const isLate = (journal.state.endsBy ?? Infinity) <= host.world.now();
  if (isLate) await giveTurnBack(host, turn);
  const rate =
    definition.flow?.rate === undefined || isLate
      ? null
      : rateOf(definition, decode(journal.input, `input of run ${journal.runId}`));
  const hasTurn = turn !== undefined && turn.rate === rate?.name;
  const taken = rate === null ? null : await takeRate(host, rate, hasTurn);
  if (taken !== null && taken.wait > 0) return queued(host, journal, { lease, hasTurn, ...taken });
  const isMoved = isDebounced(journal.state.summary);
  if (taken === null && !isMoved) return { kind: "now" };
  const { singleton: _, ...flow } = journal.state.summary.flow ?? {};
  const fact = written(host, { kind: "run.queued", ...(isMoved ? { flow } : {}), begun: true });
  const appended = await journal.append([fact], { lease: lease.extend(false) });
  if (appended.kind === "landed") return { kind: "now" };
  if (rate !== null && taken !== null) await returnUse(host, rate, taken.at);
  await lease.release();
  return { kind: "again" };
}

/** Records the turn of a run; one that came a little too early asks again without a record. */
async function queued(
  host: Host,
  journal: RunJournal,
  { lease, wait, turn, hasTurn }: Taken & { readonly lease: DriverLease; readonly hasTurn: boolean },
): Promise<Begins> {
  if (hasTurn) {
    await lease.release(wait);
    return { kind: "later", inMs: wait };
  }
  const { summary, endsBy } = journal.state;
  const flow = { ...summary.flow, startAt: Math.min(host.world.now() + wait, endsBy ?? Infinity) };
  const fact = written(host, { kind: "run.queued", flow, turn });
  const { kind } = await journal.append([fact], { lease: null });
  journal.driven ||= kind === "landed";
  if (kind === "landed") lease.released();
  else {
    await giveTurnBack(host, turn);
    await lease.release();
  }
  return { kind: "again" };
}

/** The longest time for which other processes, whose clocks may be right, do not get a run. */
const longestRestMs = 5_000;

/** How long a run is left alone that is due for its storage, and not by the clock here: a worker would take it again at once. */
function restMs({ state }: RunJournal, early: number): number {
  return state.summary.wakeAt === 0 ? Math.min(early, longestRestMs) : 0;
}

/** The shortest and the longest pause between two attempts to get a slot. */
const [shortestMs, longestMs] = [25, 500];

/** Runs of this process that wait for the same slot ask one after the other. */
function inLine({ host, journal }: Admission, take: () => Promise<LeasedRun>): Promise<LeasedRun> {
  const { workflow, flow } = journal.state.summary;
  if (flow?.slot === undefined) return take();
  return host.inTurn(`slot ${JSON.stringify([workflow, flow.slot])}`, async () => {
    for (let ms = shortestMs; ; ms = Math.min(2 * ms, longestMs)) {
      const leased = await take();
      if (leased.owned || !leased.lease.full || journal.state.end !== null) return leased;
      await pause(host.world, ms * (0.75 + host.world.random() / 2));
      await journal.refresh();
    }
  });
}
