/**
 * Schedules as the storage keeps them, read with code of its own.
 *
 * I31. A tick is on the grid of its schedule, comes after the ticks before it, and not before its time but for the
 *      difference between clocks. It is decided by one write, and only while the schedule is not paused. No run of a
 *      tick begins before that, and no tick counts as begun before its run exists. A tick is left out only where the
 *      rules for overlaps and missed ticks say so. After faults have ended, every schedule goes on, and every tick that
 *      was decided has its run.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "@durable/core/storage";
import type { History } from "./history.ts";
import type { Process } from "./process.ts";
import { isEnd, isOpen, isRetried, type RunLog } from "./run-log.ts";

/** A tick begins so soon if nothing disturbs it. */
const punctualMs = 3_000;
/** A tick that is later than this was missed. */
const lateMs = 300_000;
/** Missed ticks that `all` makes up for. */
const mostMissed = 100;

interface NotedTick {
  readonly at: number;
  readonly runId: string;
  readonly cancels?: string | null;
}

/** A schedule as it is written. */
interface Written {
  readonly timing: { readonly every: number };
  readonly overlap: string;
  readonly missed: string;
  readonly after: number;
  readonly paused: boolean;
  readonly pending: NotedTick | null;
  readonly queued: number | null;
  readonly last: NotedTick | null;
}

interface Kept extends Written {
  readonly name: string;
  readonly version: string;
  /** When it was written, by the storage's clock. */
  readonly writtenAt: number;
}

/** True for the id of a run that a tick has started. */
export function isOfTick(runId: string): boolean {
  return /^nightly-\d+-\d{8}T\d{6}Z$/.test(runId);
}

export class ScheduleDisk {
  readonly #base: ScheduleStore;
  readonly #history: History;
  readonly #now: () => number;
  readonly #slackMs: number;
  readonly #kept = new Map<string, Kept>();
  /** Ids of the runs of all ticks that were decided. */
  readonly #decided = new Set<string>();
  /** The decided runs whose schedule was deleted before they began. */
  readonly #deleted = new Set<string>();
  /** When each schedule was last deleted. */
  readonly #deletedAt = new Map<string, number>();

  constructor(
    base: ScheduleStore,
    history: History,
    options: { readonly now: () => number; readonly slackMs: number },
  ) {
    this.#base = base;
    this.#history = history;
    this.#now = options.now;
    this.#slackMs = options.slackMs;
  }

  get(name: string): Promise<StoredSchedule | null> {
    return this.#base.get(name);
  }

  list(query?: StoredScheduleQuery): Promise<readonly StoredSchedule[]> {
    return this.#base.list(query);
  }

  async put(process: Process, schedule: StoredSchedule, version: string | null): Promise<boolean> {
    const done = await this.#base.put(schedule, version);
    const { name } = schedule;
    // A copy of a request is answered with the first reply, and changes nothing.
    if (!done || this.#kept.get(name)?.version === schedule.version) return done;
    const before = this.#kept.get(name);
    const next: Kept = {
      ...(JSON.parse(schedule.text) as Written),
      name,
      version: schedule.version,
      writtenAt: this.#now(),
    };
    this.#kept.set(name, next);
    this.#history.say("disk", `schedule ${name}: ${describe(next)} (${process.name})`);
    if ((before?.version ?? null) !== version) this.#violate(next, "was written over another version");
    this.#judge(process, before, next);
    return done;
  }

  async delete(name: string, version: string): Promise<boolean> {
    const done = await this.#base.delete(name, version);
    const before = this.#kept.get(name);
    if (!done || before === undefined) return done;
    if (before.pending !== null) this.#deleted.add(before.pending.runId);
    this.#kept.delete(name);
    this.#deletedAt.set(name, this.#now());
    this.#history.meet("a schedule that was deleted");
    this.#history.say("disk", `schedule ${name} is deleted`);
    return done;
  }

  /** Runs when the first batch of a run is applied. */
  began({ runId }: RunLog): void {
    if (!isOfTick(runId)) return;
    this.#history.meet("a run of a tick");
    if (!this.#decided.has(runId))
      this.#history.violate("I31", `run ${runId} begins, and its tick was not decided`);
  }

  /** The schedules that there are, and what they wait for; empty when each has come to this time. */
  behind(names: readonly string[], time: number, isStuck: (run: RunLog) => boolean): string[] {
    return names.flatMap((name) => {
      const kept = this.#kept.get(name);
      // A delete that was on its way when faults ended may land after the program has defined it.
      if (kept === undefined)
        return (this.#deletedAt.get(name) ?? 0) > time ? [] : [`${name} is not defined`];
      // A later tick may well be queued: runs can take longer than a period.
      const held = this.#logs(kept.last).some(isStuck);
      const waits = kept.queued !== null && kept.queued < time && !held;
      // A run that cannot be read cannot be cancelled for the next one either.
      const isUp = (kept.pending === null || held) && (kept.paused || (kept.after >= time && !waits));
      return isUp ? [] : [`${name} ${describe(kept)}`];
    });
  }

  /** Names of the schedules that there are. */
  get names(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** Runs after the end of a simulation. */
  judgeEnd(): void {
    const begun = new Set(this.#history.runs.map(({ runId }) => runId));
    for (const runId of this.#decided)
      if (!begun.has(runId) && !this.#deleted.has(runId) && this.#history.forgotten.size === 0)
        this.#history.violate("I31", `the tick of ${runId} was decided, and has no run`);
  }

  #violate({ name }: Kept, what: string): void {
    this.#history.violate("I31", `schedule ${name} ${what}`);
  }

  #judge(process: Process, before: Kept | undefined, next: Kept): void {
    if (before === undefined) {
      if (next.pending !== null || next.last !== null) this.#violate(next, "begins with a tick");
      return;
    }
    if (next.after < before.after) this.#violate(next, "goes back");
    if (before.pending !== null) return this.#judgeBegun(before, next, before.pending);
    if (next.pending !== null) return this.#judgeTick(process, before, next, next.pending);
    const resumed = before.paused && !next.paused;
    if (resumed) return this.#history.meet("a schedule that was unpaused");
    if (next.paused && !before.paused) this.#history.meet("a schedule that was paused");
    if (next.queued !== before.queued || next.after !== before.after)
      this.#judgeLeftOut(process, before, next);
  }

  /** A tick was decided before. It counts as begun only with its run. */
  #judgeBegun(before: Kept, next: Kept, { runId, cancels = null }: NotedTick): void {
    if (next.pending?.runId === runId) return;
    if (next.pending !== null) return this.#violate(next, `decides a tick before the run ${runId} exists`);
    if (next.last?.runId !== runId) this.#violate(next, `forgets ${runId}`);
    if (this.#logs(next.last).length === 0 && this.#history.forgotten.size === 0)
      this.#violate(next, `counts ${runId} as begun, which does not exist`);
    if (cancels !== null && !this.#hasEnded(before.last))
      this.#violate(next, `begins ${runId} beside ${cancels}, which is not cancelled`);
  }

  #judgeTick(process: Process, before: Kept, next: Kept, { at, runId, cancels = null }: NotedTick): void {
    const { every } = next.timing;
    this.#decided.add(runId);
    const [seconds = ""] = new Date(at).toISOString().split(".");
    if (runId !== `${next.name}-${seconds.replace(/[-:]/g, "")}Z` || at % every !== 0)
      this.#violate(next, `calls the tick at ${seconds} ${runId}`);
    if (before.paused) this.#violate(next, `decides ${runId} while it is paused`);
    if (at > process.clock + this.#slackMs) this.#violate(next, `decides ${runId} too early`);
    const isFree = before.overlap === "allow" || this.#hasEnded(before.last);
    if (!isFree && (cancels === null || cancels !== before.last?.runId || before.overlap !== "cancel"))
      this.#violate(next, `decides ${runId} while ${before.last?.runId} has not ended`);
    if (cancels !== null) this.#history.meet("a tick that cancels the run before");
    if (before.queued !== null) {
      if (at !== before.queued || next.queued !== null)
        this.#violate(next, `decides ${runId} before the queued tick`);
      return this.#history.meet("a tick that was queued");
    }
    if (at <= before.after || next.after !== at) this.#violate(next, `decides ${runId} again`);
    this.#judgeMissed(process, before, { ...next, after: at });
  }

  /** Which of several due ticks is taken. */
  #judgeMissed(process: Process, before: Kept, next: Kept): void {
    const { every } = next.timing;
    const passed = next.after / every - Math.floor(before.after / every) - 1;
    if (passed > 0) this.#history.meet("a tick that was missed");
    this.#judgeLate(before, next, passed);
    const due = (process.clock + this.#slackMs - before.after) / every;
    if (next.missed === "all" && passed > 0 && due < mostMissed)
      this.#violate(next, `leaves ${passed} missed ticks out`);
    // It was decided after the write before, so every tick up to then was due.
    const newest = Math.floor((before.writtenAt - this.#slackMs) / every) * every;
    if (next.missed !== "all" && next.after < newest && !this.#history.clocksMove)
      this.#violate(next, `takes a tick that is not the latest`);
  }

  /**
   * Once a worker has come to a tick after the faults, only the clock decides about the next one. It may notice a schedule
   * that another process has defined half a minute later.
   */
  #judgeLate({ overlap, queued, after, writtenAt, last }: Kept, next: Kept, passed: number): void {
    const { clocksMove, steady } = this.#history;
    const isFree = (overlap === "allow" || overlap === "skip") && queued === null;
    if (!isFree || clocksMove || !steady.isPunctual || this.#slackMs > 0) return;
    if (after < steady.healedAt || last?.at !== after) return;
    const late = this.#now() - next.after;
    if (passed > 0 && next.missed !== "all")
      this.#history.violate("I38", `schedule ${next.name} misses ${passed} ticks, and nothing disturbs it`);
    else if (late > punctualMs && writtenAt - after <= punctualMs)
      this.#history.violate("I38", `schedule ${next.name} ticks ${late} ms late`);
  }

  /** A tick without a run. */
  #judgeLeftOut(process: Process, before: Kept, next: Kept): void {
    if (before.paused) this.#violate(next, "leaves a tick out while it is paused");
    const overlaps = this.#wasOpen(before.last, before.writtenAt);
    if (next.queued !== null) {
      this.#history.meet("a tick that waits in the queue");
      if (!overlaps || before.overlap !== "queue" || before.queued !== null)
        this.#violate(next, "queues a tick that could begin");
      return;
    }
    if (before.queued !== null) return this.#violate(next, "forgets the queued tick");
    const isLate = before.missed === "skip" && process.clock + this.#slackMs - next.after > lateMs;
    if (!isLate && !(overlaps && before.overlap === "skip"))
      this.#violate(next, `leaves the tick at ${next.after} out`);
    this.#history.meet(isLate ? "a tick that was too late" : "a tick left out beside a run");
  }

  #logs(tick: NotedTick | null): RunLog[] {
    return this.#history.runs.filter(({ runId }) => runId === tick?.runId);
  }

  /** True when the run of a tick has ended at some time, is gone, or cannot be judged. */
  #hasEnded(tick: NotedTick | null): boolean {
    return this.#logs(tick).every((run) => !isOpen(run) || isRetried(run) || run.tainted);
  }

  /** True when the run of a tick may have been open at this time. */
  #wasOpen(tick: NotedTick | null, at: number): boolean {
    if (tick !== null && this.#history.forgotten.size > 0) return true;
    return this.#logs(tick).some((run) => {
      if (isOpen(run) || isRetried(run) || run.tainted) return true;
      const end = run.batches.findLast(({ entries }) => entries.some(({ kind }) => isEnd(kind)));
      return (end?.at ?? run.deletedAt) >= at;
    });
  }
}

function describe({ after, paused, pending, queued }: Kept): string {
  const parts = [
    `stands at ${new Date(after).toISOString()}`,
    ...(pending === null ? [] : [`begins ${pending.runId}`]),
    ...(queued === null ? [] : [`queued ${new Date(queued).toISOString()}`]),
    ...(paused ? ["paused"] : []),
  ];
  return parts.join(", ");
}
