/**
 * Runs that want a driver, in the order in which claims take them. Proven by the conformance suite.
 *
 * memory-due.1. A run is in exactly one place: held while it has a lease or a quiet time, asleep until its time, due, or in
 *     none of them. `place` is called after every change of it.
 * memory-due.2. A claim first moves the runs whose time has come. So it costs what it takes and what has moved since the
 *     last one, and nothing for runs that wait.
 */

import { claimInOrder, type AboutRun, type DueRunsIndex, type Lane } from "../../ports/claim-order.ts";
import { FairTurns, isFound } from "../../ports/storage-kit.ts";
import type { ClaimRequest } from "../../ports/storage.ts";
import { placeOf, type Kept } from "./kept.ts";
import { Sorted } from "./sorted.ts";

/** A run in a list, with the number by which it is sorted there. */
interface Placed {
  readonly at: number;
  readonly run: Kept;
}

/** Takes a run out of its lists. */
type Leave = () => void;

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const byNumber = (a: Placed, b: Placed): number => a.at - b.at || a.run.order - b.run.order;

function put(list: Sorted<Placed>, at: number, run: Kept): Leave {
  const placed = { at, run };
  list.add(placed);
  return () => list.delete(placed);
}

/** Lists of runs under texts that are sorted. A list that is empty is gone. */
class Lists {
  readonly #keys = new Sorted(byText);
  readonly #lists = new Map<string, Sorted<Placed>>();

  add(key: string, run: Kept): Leave {
    const list = this.#lists.get(key) ?? new Sorted(byNumber);
    if (!this.#lists.has(key)) this.#keys.add(key);
    this.#lists.set(key, list);
    const leave = put(list, placeOf(run), run);
    return () => {
      leave();
      if (list.size > 0) return;
      this.#lists.delete(key);
      this.#keys.delete(key);
    };
  }

  /** The first runs under a key that are `wanted`. */
  first(key: string, most: number, wanted: (run: Kept) => boolean): Kept[] {
    const found: Kept[] = [];
    for (const { run } of this.#lists.get(key) ?? []) {
      if (found.length >= most) break;
      if (wanted(run)) found.push(run);
    }
    return found;
  }

  /** The first key after this one that has a run which is `wanted`. */
  next(after: string | null, wanted: (run: Kept) => boolean): string | null {
    for (const key of this.#keys.after(after)) if (this.first(key, 1, wanted).length > 0) return key;
    return null;
  }
}

const slotKey = (workflow: string, slot: string): string => JSON.stringify([workflow, slot]);

export class MemoryDue {
  /** How often a run was placed. */
  placed = 0;
  readonly #now: () => number;
  readonly #places = new Map<Kept, readonly Leave[]>();
  readonly #held = new Sorted(byNumber);
  /** The time of each run in `#held`, which its lease may have passed. */
  readonly #heldAt = new Map<Kept, number>();
  /** By workflow. */
  readonly #asleep = new Map<string, Sorted<Placed>>();
  /** By workflow, then by key of `fair`. */
  readonly #lanes = new Map<string, Lists>();
  /** By workflow and key of `fair`, then by slot. */
  readonly #slots = new Map<string, Lists>();
  /** Runs that have a slot, or were claimed for it. */
  readonly #inSlots = new Map<string, Set<Kept>>();
  readonly #turns = new FairTurns();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A run was created, changed or deleted. `dueAt` is a time at which it may be due, whatever the clock says. */
  place(run: Kept, dueAt = -Infinity): void {
    const { head, deleted } = run;
    this.placed += 1;
    if (this.#staysHeld(run)) return;
    for (const leave of this.#places.get(run) ?? []) leave();
    const places = deleted ? [] : this.#inSlot(run);
    if (!deleted && head.wakeAt !== null) places.push(...this.#placeOf(run, head.wakeAt, dueAt));
    if (places.length === 0) this.#places.delete(run);
    else this.#places.set(run, places);
  }

  /** A driver that goes on extends its lease with each append. When the time of its place is over, it gets another one. */
  #staysHeld(run: Kept): boolean {
    const { head, lease, deleted } = run;
    const at = this.#heldAt.get(run);
    if (at === undefined || deleted || head.wakeAt === null || head.flow?.slot !== undefined) return false;
    return lease !== null && at <= lease.until && at > this.#now();
  }

  #inSlot(run: Kept): Leave[] {
    const { workflow, flow } = run.head;
    if (flow?.slot === undefined || (run.lease === null && run.claimedUntil === 0)) return [];
    const key = slotKey(workflow, flow.slot);
    const inSlot = this.#inSlots.get(key) ?? new Set();
    this.#inSlots.set(key, inSlot.add(run));
    const leave = (): void => {
      inSlot.delete(run);
      if (inSlot.size === 0) this.#inSlots.delete(key);
    };
    return [leave];
  }

  #placeOf(run: Kept, wakeAt: number, dueAt: number): Leave[] {
    const { workflow, flow = {} } = run.head;
    const now = this.#now();
    const until = Math.max(run.quietUntil, run.lease?.until ?? 0);
    if (until > now) {
      this.#heldAt.set(run, until);
      const leave = put(this.#held, until, run);
      return [leave, () => void this.#heldAt.delete(run)];
    }
    if (wakeAt > Math.max(now, dueAt)) {
      const asleep = this.#asleep.get(workflow) ?? new Sorted(byNumber);
      this.#asleep.set(workflow, asleep);
      return [put(asleep, wakeAt, run)];
    }
    const { fair = "", slot } = flow;
    const lane = listsOf(this.#lanes, workflow).add(fair, run);
    return slot === undefined ? [lane] : [lane, listsOf(this.#slots, slotKey(workflow, fair)).add(slot, run)];
  }

  /** Moves runs whose lease or quiet time is over, and those of these workflows whose time has come. */
  #move(workflows: readonly string[], dueAt: number): void {
    const lists = [
      { from: this.#held, until: this.#now() },
      ...workflows.map((workflow) => ({ from: this.#asleep.get(workflow), until: dueAt })),
    ];
    for (const { from, until } of lists)
      for (let next = from?.first; next !== undefined && next.at <= until; next = from?.first)
        this.place(next.run, dueAt);
  }

  /** How many runs other than this one have the slot; with `claimed`, those that were claimed for it, too. */
  taken(
    workflow: string,
    slot: string,
    { but, claimed }: { readonly but?: Kept; readonly claimed: boolean },
  ): number {
    const now = this.#now();
    let taken = 0;
    for (const run of this.#inSlots.get(slotKey(workflow, slot)) ?? []) {
      const isLive = run.lease !== null && run.lease.until > now;
      if (run !== but && (isLive || (claimed && run.claimedUntil > now))) taken += 1;
    }
    return taken;
  }

  /** The runs that a claim takes. */
  claimable(request: ClaimRequest, turn: number): Kept[] {
    const { workflow, version, dueAt, slots } = request;
    this.#move(workflow, dueAt);
    // A claim for an earlier time may come after one for a later time.
    const wanted = (run: Kept): boolean =>
      (run.head.wakeAt ?? Infinity) <= dueAt && isFound(run.head, { version });
    const slotsOf = ({ workflow: name, fair }: Lane): Lists | undefined =>
      this.#slots.get(slotKey(name, fair));
    const index: DueRunsIndex<Kept> = {
      nextFair: (name, after) => this.#lanes.get(name)?.next(after, wanted) ?? null,
      due: ({ workflow: name, fair }, most) => this.#lanes.get(name)?.first(fair, most, wanted) ?? [],
      nextSlot: (lane, after) => slotsOf(lane)?.next(after, wanted) ?? null,
      dueOfSlot: (lane, slot, most) => slotsOf(lane)?.first(slot, most, wanted) ?? [],
      taken: (name, slot) => this.taken(name, slot, { claimed: true }),
      about: (run): AboutRun => ({ ...run.head.flow, id: run.order, order: placeOf(run) }),
    };
    return claimInOrder(index, { ...request, slots }, { turns: this.#turns, turn });
  }
}

function listsOf(all: Map<string, Lists>, key: string): Lists {
  const lists = all.get(key) ?? new Lists();
  all.set(key, lists);
  return lists;
}
