/**
 * Due runs for the workers of a fleet: claiming them, and waiting until there are some.
 *
 * due.1. A row that is damaged keeps no other run from being claimed. Whoever claims it finds out when it reads the journal.
 * due.2. Writes of this process notify its workers at once; those of other processes are found by polling the version of
 *     the file. The death of a driver changes no file, so runs are looked up now and then as well.
 * due.3. The polling timer runs only while a worker waits, and throws nothing.
 */

import { DueWatch, type DueRuns } from "../../ports/due-watch.ts";
import { claimInOrder, type AboutRun, type DueRunsIndex } from "../../ports/claim-order.ts";
import { FairTurns, pageSize } from "../../ports/storage-kit.ts";
import type { AppendRequest, ClaimRequest, RunFlow } from "../../ports/storage.ts";
import { systemWorld } from "../../ports/world.ts";
import { listText } from "./list-text.ts";
import { deadDrivers } from "./listing.ts";
import { thisProcess } from "./process.ts";
import { useOf } from "./slots.ts";
import type { Row, Statements, Value } from "./statements.ts";
import { atOnce } from "../../values/limits.ts";

export interface ClaimTurn {
  readonly now: number;
  /** The workflow whose turn is first. */
  readonly turn: number;
  readonly turns: FairTurns;
}

/** True when a claim has something to do. */
export function isAnyDue(sql: Statements, request: ClaimRequest, turn: ClaimTurn): boolean {
  const { workflow, dueAt, limit } = request;
  if (pageSize(limit) === 0) return false;
  if (workflow.some((name) => sql.isAnyAwake.get(name, dueAt) !== undefined)) return true;
  return (
    claimInOrder(indexOf(sql, request, turn.now), { ...request, limit: 1 }, { ...turn, peek: true }).length >
    0
  );
}

/** Takes due runs and makes them quiet. Part of a commit. */
export function claimRows(sql: Statements, request: ClaimRequest, turn: ClaimTurn): Row[] {
  const { workflow, dueAt, quietMs } = request;
  const { now } = turn;
  for (const name of workflow) sql.wakeUp.run(name, dueAt, atOnce.wakeUps);
  const taken = claimInOrder(indexOf(sql, request, now), request, turn);
  for (const { locator = null, slot = null, process = null } of taken) {
    (process === null ? sql.quiet : sql.quietAndUnlease).run(now + quietMs, locator);
    if (slot !== null) sql.claimSlot.run(now + quietMs, thisProcess, locator);
  }
  return taken;
}

/** The due runs of the file, as a claim walks them. */
function indexOf(
  sql: Statements,
  { workflow, version, dueAt }: ClaimRequest,
  now: number,
): DueRunsIndex<Row> {
  const dead = JSON.stringify(deadDrivers(sql, workflow));
  const versions = version === undefined ? null : JSON.stringify(version);
  const given = [dueAt, now, dead, versions];
  return {
    nextFair: (name, after) =>
      textOf((after === null ? sql.firstFair : sql.nextFair).get(name, after ?? "", ...given)),
    due: ({ workflow: name, fair }, most) => sql.dueOfFair.all(name, fair, ...given, most) as Row[],
    nextSlot: ({ workflow: name, fair }, after) =>
      textOf((after === null ? sql.firstSlot : sql.nextSlot).get(name, fair, ...given, after ?? "")),
    dueOfSlot: ({ workflow: name, fair }, slot, most) =>
      sql.dueOfSlot.all(name, fair, ...given, slot, most) as Row[],
    taken: (name, slot) => {
      const { driven, claimed } = useOf(sql, { workflow: name, slot }, now);
      return driven + claimed;
    },
    about: aboutRow,
  };
}

function textOf(row: unknown): string | null {
  const [value] = Object.values(Object(row) as Row);
  return value === undefined || value === null ? null : String(value);
}

function aboutRow(row: Row): AboutRun {
  const { slot = null, flow = null } = row;
  const weight = weightIn(flow);
  return {
    id: Number(row["id"]),
    order: Number(row["due_order"]),
    fair: String(row["fair"]),
    ...(slot !== null && { slot: String(slot) }),
    ...(weight !== undefined && { weight }),
  };
}

/** A text that is damaged has none. */
function weightIn(flow: Value): number | undefined {
  try {
    return flow === null ? undefined : (JSON.parse(String(flow)) as RunFlow).weight;
  } catch {
    return undefined;
  }
}

const pollMs = 20;
/** After this many polls the runs are looked up although nothing was written. */
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
      // Whether anything changed is unknown, so check for every worker.
    }
    this.#watch.recheck();
  }
}

/** When one of these runs is due next. Costs the same however many runs wait for their time. */
function nextDueOf(sql: Statements, { workflow, version }: DueRuns, now: number): number | null {
  const request = { workflow, version, dueAt: now, limit: 1, quietMs: 0 };
  if (isAnyFree(sql, request, now)) return now;
  const names = workflow.flatMap((name) => (version ?? [null]).map((one) => [name, now, one] as const));
  const times = names
    .flatMap(([name, at, one]) => [
      one === null ? sql.nextWake.get(name, at) : sql.nextWakeOf.get(name, at, one),
      sql.nextVisible.get(name, at, one),
      sql.nextVisibleAsleep.get(name, at, one),
    ])
    .map((row) => (row as Row | undefined)?.["at"]);
  const known = times.filter((at) => typeof at === "number");
  return known.length === 0 ? null : Math.min(...known);
}

/** True when one of these runs is due and has no driver, whether it has a slot or not. */
function isAnyFree(sql: Statements, request: ClaimRequest, now: number): boolean {
  if (
    claimInOrder(indexOf(sql, request, now), request, { turns: new FairTurns(), turn: 0, peek: true })
      .length > 0
  )
    return true;
  const asleep = { now, dead: [] };
  return request.workflow.some((workflow) => {
    const { text, values } = listText(
      { workflow, asleep: true, version: request.version, dueAt: now },
      asleep,
    );
    return sql.list(text, [...values, 1]).length > 0;
  });
}
