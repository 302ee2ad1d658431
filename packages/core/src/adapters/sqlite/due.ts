/**
 * Due runs for the workers of a fleet: claiming them, and waiting until there are some.
 *
 * due.1. A claim checks every row before it writes one, so a refused claim has changed nothing.
 * due.2. Writes of this process notify its workers at once; those of other processes are found by polling the version of
 *     the file. The death of a driver changes no file, so runs are looked up now and then as well.
 * due.3. The polling timer runs only while a worker waits, and throws nothing.
 */

import { DueWatch, type DueRuns } from "../../ports/due-watch.ts";
import { inTurns, pageSize } from "../../ports/storage-kit.ts";
import type { AppendRequest, ClaimRequest } from "../../ports/storage.ts";
import { systemWorld } from "../../ports/world.ts";
import { dueRowsOf, isAnyWaiting } from "./listing.ts";
import { thisProcess } from "./process.ts";
import { claimableRows } from "./slots.ts";
import type { Row, Statements } from "./statements.ts";
import { checkRun } from "./sums.ts";

interface ClaimTurn {
  readonly now: number;
  /** The workflow whose turn is first. */
  readonly turn: number;
  readonly path: string;
}

export function isAnyDue(sql: Statements, request: ClaimRequest, now: number, turn: number): boolean {
  const most = Math.min(1, pageSize(request.limit));
  return claimableRows(sql, request, { now, most, turn }).some(({ length }) => length > 0);
}

/** Takes due runs, one of each workflow in turn, and makes them quiet. Part of a commit. */
export function claimRows(sql: Statements, request: ClaimRequest, { now, turn, path }: ClaimTurn): Row[] {
  const { limit, quietMs } = request;
  const most = pageSize(limit);
  const taken = inTurns(claimableRows(sql, request, { now, most, turn }), most, turn);
  for (const row of taken) checkRun(row, path);
  for (const { locator = null, slot = null, lease_until: leaseUntil } of taken) {
    (Number(leaseUntil) > now ? sql.quietAndUnlease : sql.quiet).run(now + quietMs, locator);
    if (slot !== null) sql.claimSlot.run(now + quietMs, thisProcess, locator);
  }
  return taken;
}

const pollMs = 20;
/** Every so many polls the runs are looked up although nothing was written. */
const lookUpEvery = 50;

export class DuePoll {
  readonly #watch: DueWatch;
  readonly #version: () => number;
  #timer: ReturnType<typeof setInterval> | null = null;
  #seen = -1;
  #polls = 0;

  /** `version` changes when another connection has written. */
  constructor(sql: Statements, now: () => number, version: () => number) {
    const nextDue = (of: DueRuns): number | null => nextDueOf(sql, of, now());
    this.#watch = new DueWatch({ now, timer: (ms, fire) => systemWorld.timer(ms, fire), nextDue });
    this.#version = version;
  }

  async whenDue(of: DueRuns, signal: AbortSignal): Promise<void> {
    this.#timer ??= setInterval(() => this.#poll(), pollMs);
    await this.#watch.whenDue(of, signal);
    this.#stopIfUnused();
  }

  /** This process has appended. */
  appended({ head, lease }: AppendRequest): void {
    if (this.#watch.size === 0 || lease) return;
    // The end of a run may leave its slot to another one.
    if (head.flow?.slot !== undefined) return this.#watch.recheck();
    if (head.wakeAt === null) return;
    // Without a word about the lease, the run may have a driver.
    if (lease === null) this.#watch.notify(head, head.wakeAt);
    else this.#watch.recheck();
  }

  /** This process has ended a lease. */
  recheck(): void {
    this.#watch.recheck();
  }

  close(): void {
    this.#watch.close();
    this.#stopIfUnused();
  }

  #stopIfUnused(): void {
    if (this.#timer === null || this.#watch.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #poll(): void {
    try {
      const version = this.#version();
      const isSame = version === this.#seen;
      this.#seen = version;
      if (isSame && ++this.#polls % lookUpEvery !== 0) return;
    } catch {
      // Whether anything changed is unknown, so look for every worker.
    }
    this.#watch.recheck();
  }
}

/** When one of these runs is due next. Costs the same however many runs wait for their time. */
function nextDueOf(sql: Statements, of: DueRuns, now: number): number | null {
  // Those of dead drivers are looked for among all that are due, so only if there are no others.
  if (isAnyWaiting(sql, of, now)) return now;
  if (dueRowsOf(sql, of, { dueAt: now, now, most: 1 }).some(({ length }) => length > 0)) return now;
  const { workflow, version } = of;
  const statements =
    version === undefined ? [sql.nextWake, sql.nextVisible] : [sql.nextWakeOf, sql.nextVisibleOf];
  const names =
    version === undefined
      ? workflow.map((name) => [name])
      : workflow.flatMap((name) => version.map((one) => [name, one]));
  const times = statements.flatMap((statement) =>
    names.map((each) => (statement.get(...each, now) as Row)["at"]),
  );
  const known = times.filter((at) => typeof at === "number");
  return known.length === 0 ? null : Math.min(...known);
}
