/**
 * Which due runs a claim takes, for storages that walk them in this process. Postgres has the same rules in its functions.
 *
 * claim-order.1. Workflows take turns, and within a workflow the keys of `fair`, each for as many runs as its weight. Within
 *     a key, runs come in their order: due longest first, a priority counted in.
 * claim-order.2. A run is left out while all slots of its key are taken. The runs behind it are not.
 * claim-order.3. A claim reads about as many runs and keys as it takes, however many wait or sleep: it goes from one key
 *     with due runs to the next, and reads a bounded number of runs whose slots are taken.
 */

import type { FairTurns } from "./fair-turns.ts";
import { inTurns, pageSize } from "./storage-kit.ts";
import type { ClaimRequest, RunFlow, SlotLimits } from "./storage.ts";

/** Runs of one workflow with one key of `fair`; the key is empty for runs without one. */
export interface Lane {
  readonly workflow: string;
  readonly fair: string;
}

/** What a claim asks about the runs that are due and have no driver. */
export interface DueRunsIndex<Run> {
  /** The first key of `fair` with due runs that sorts after this one; the first of all for `null`. */
  nextFair(workflow: string, after: string | null): string | null;
  /** Runs of a lane in their order, at most this many. */
  due(lane: Lane, most: number): readonly Run[];
  /** The same of one slot. */
  dueOfSlot(lane: Lane, slot: string, most: number): readonly Run[];
  /** The first slot of a lane with due runs that sorts after this one; the first of all for `null`. */
  nextSlot(lane: Lane, after: string | null): string | null;
  /** How many runs have this slot now, or were claimed for it. */
  taken(workflow: string, slot: string): number;
  about(run: Run): AboutRun;
}

/** What decides about a due run. */
export interface AboutRun extends Pick<RunFlow, "slot" | "fair" | "weight"> {
  readonly id: number;
  readonly order: number;
}

/** The runs of a lane that are read for each that is wanted, while there are several lanes. */
const firstLook = 8;
/** Runs whose slots are taken that a claim passes over before it goes by slots instead. */
const passedOver = 200;
/** Lanes and slots that a claim may read in vain. */
const vainLooks = 50;

/**
 * The runs that a claim takes; `turn` is the workflow whose turn is first. With `peek` they are only read, and whose
 * turn it is does not change.
 */
export function claimInOrder<Run>(
  index: DueRunsIndex<Run>,
  { workflow, limit, slots }: Pick<ClaimRequest, "workflow" | "limit" | "slots">,
  {
    turns,
    turn,
    peek = false,
  }: { readonly turns: FairTurns; readonly turn: number; readonly peek?: boolean },
): Run[] {
  const most = pageSize(limit);
  const names = [...new Set(workflow)];
  const found = names.map((name) => new WorkflowClaim(index, name, { slots, most, turns }).take());
  const taken = inTurns(found, most, turn);
  if (peek) return taken;
  const isTaken = new Set(taken);
  for (const [n, name] of names.entries())
    for (const run of found[n] ?? []) if (isTaken.has(run)) turns.took(name, index.about(run));
  return taken;
}

interface Walk<Run> extends Lane {
  runs: readonly Run[];
  at: number;
  /** How many runs were asked for, so that fewer mean that there are no more. */
  asked: number;
  /** The runs of slots that are free, because those of others are in front of them. */
  bySlot: boolean;
}

/** The claim of one workflow. */
class WorkflowClaim<Run> {
  readonly #index: DueRunsIndex<Run>;
  readonly #workflow: string;
  readonly #limit: number | undefined;
  readonly #most: number;
  readonly #turns: FairTurns;
  /** Free slots, as far as they were counted. */
  readonly #free = new Map<string, number>();
  readonly #taken = new Map<number, Run>();

  constructor(
    index: DueRunsIndex<Run>,
    workflow: string,
    {
      slots,
      most,
      turns,
    }: { readonly slots: SlotLimits | undefined; readonly most: number; readonly turns: FairTurns },
  ) {
    this.#turns = turns;
    this.#index = index;
    this.#workflow = workflow;
    this.#limit = slots?.[workflow];
    this.#most = most;
  }

  /** At most as many runs as were asked for. */
  take(): Run[] {
    const turn = this.#turns.of(this.#workflow);
    const lanes: Walk<Run>[] = [];
    for (const fair of this.#fairKeys(turn)) {
      const lane = this.#walk(fair, lanes.length === 0 && fair === "" ? this.#wide : firstLook);
      this.#serve(lane, turn?.fair === fair && turn.left > 0 ? turn.left : null);
      lanes.push(lane);
      if (this.#isFull) break;
      if (lanes.length < this.#most + vainLooks) continue;
      if (this.#taken.size === 0) this.#turns.pass(this.#workflow, fair);
      break;
    }
    for (let open = lanes; !this.#isFull && open.length > 0;)
      open = open.filter((lane) => this.#serve(lane, null));
    return [...this.#taken.values()];
  }

  get #isFull(): boolean {
    return this.#taken.size >= this.#most;
  }

  get #wide(): number {
    return this.#limit === undefined ? this.#most : this.#most + passedOver;
  }

  /** The keys with due runs, from the one whose turn it is, each once. */
  *#fairKeys(turn: ReturnType<FairTurns["of"]>): Generator<string> {
    const next = (after: string | null): string | null => this.#index.nextFair(this.#workflow, after);
    const first = next(null);
    if (first === null) return;
    if (turn !== undefined && turn.left > 0) yield turn.fair;
    for (let fair = next(turn?.fair ?? null); fair !== null; fair = next(fair)) yield fair;
    if (turn === undefined) return;
    for (let fair: string | null = first; fair !== null && fair <= turn.fair; fair = next(fair))
      if (fair !== turn.fair || turn.left === 0) yield fair;
  }

  #walk(fair: string, asked: number): Walk<Run> {
    const lane = { workflow: this.#workflow, fair };
    return { ...lane, runs: this.#index.due(lane, asked), at: 0, asked, bySlot: false };
  }

  /** Takes the runs of one turn of a lane; false when it has no more. */
  #serve(lane: Walk<Run>, left: number | null): boolean {
    let turns = left;
    while (!this.#isFull) {
      const run = this.#next(lane);
      if (run === null) return false;
      const { id, slot, weight = 1 } = this.#index.about(run);
      turns ??= weight;
      this.#taken.set(id, run);
      if (slot !== undefined) this.#free.set(slot, this.#freeOf(slot) - 1);
      turns -= 1;
      if (turns <= 0) return true;
    }
    return true;
  }

  /** The next run of a lane that has a free slot. */
  #next(lane: Walk<Run>): Run | null {
    for (;;) {
      const run = lane.runs[lane.at++];
      if (run !== undefined) {
        const { id, slot } = this.#index.about(run);
        if (!this.#taken.has(id) && (slot === undefined || this.#freeOf(slot) > 0)) return run;
      } else if (lane.bySlot || lane.runs.length < lane.asked) return null;
      else if (lane.asked < this.#wide) Object.assign(lane, this.#walk(lane.fair, this.#wide));
      else if (this.#limit === undefined) return null;
      else Object.assign(lane, { runs: this.#ofFreeSlots(lane), at: 0, bySlot: true });
    }
  }

  #freeOf(slot: string): number {
    if (this.#limit === undefined) return Infinity;
    const free = this.#free.get(slot) ?? this.#limit - this.#index.taken(this.#workflow, slot);
    this.#free.set(slot, free);
    return free;
  }

  /** The runs behind those whose slots are taken. Each search begins at another slot. */
  #ofFreeSlots(lane: Lane): Run[] {
    const found: { readonly run: Run; readonly about: AboutRun }[] = [];
    let looks = this.#most + vainLooks;
    for (const slot of this.#slotsOf(lane)) {
      const free = this.#freeOf(slot);
      if (free <= 0) continue;
      for (const run of this.#index.dueOfSlot(lane, slot, Math.min(free, this.#most)))
        found.push({ run, about: this.#index.about(run) });
      this.#turns.slots.set(this.#workflow, slot);
      if (--looks <= 0) break;
    }
    return found
      .toSorted(({ about: a }, { about: b }) => a.order - b.order || a.id - b.id)
      .map(({ run }) => run);
  }

  *#slotsOf(lane: Lane): Generator<string> {
    const last = this.#turns.slots.get(this.#workflow) ?? null;
    const next = (after: string | null): string | null => this.#index.nextSlot(lane, after);
    for (let slot = next(last); slot !== null; slot = next(slot)) yield slot;
    if (last === null) return;
    for (let slot = next(null); slot !== null && slot <= last; slot = next(slot)) yield slot;
  }
}
