/**
 * Slots and texts of limits in memory. Proven by the conformance suite.
 *
 * memory-slots.1. A run has its slot exactly as long as its lease is live. For a claim, a run that was claimed has it, too.
 * memory-slots.2. An append extends a live lease. One that has expired is taken again by `lease`, which counts.
 */

import { inTurns, isFound, pageSize } from "../../ports/storage-kit.ts";
import type {
  AppendRequest,
  ClaimRequest,
  RunHead,
  SlotLimits,
  SlotUse,
  StorageLimits,
} from "../../ports/storage.ts";
import { keepFirst, lengthOf, wakeAt, type Kept } from "./kept.ts";

/** The runs of a storage, when one is due, and its clock. */
interface Runs {
  all(): Iterable<Kept>;
  isDue(run: Kept, dueAt: number): boolean;
  now(): number;
}

/** The slot of a run that is limited; `null` for any other run. */
function slotOf({ head }: Kept, slots: SlotLimits | undefined): string | null {
  const { workflow, flow } = head;
  return slots?.[workflow] === undefined || flow?.slot === undefined ? null : keyOf(workflow, flow.slot);
}

const keyOf = (workflow: string, slot: string): string => JSON.stringify([workflow, slot]);

const isLive = ({ lease, deleted }: Kept, now: number): boolean =>
  !deleted && lease !== null && lease.until > now;

/** True when other runs have all slots of this one. */
export function isFull(runs: Runs, run: Kept, slots: SlotLimits | undefined): boolean {
  const slot = slotOf(run, slots);
  if (slot === null) return false;
  let taken = 0;
  for (const other of runs.all())
    if (other !== run && slotOf(other, slots) === slot && isLive(other, runs.now())) taken += 1;
  return taken >= (slots?.[run.head.workflow] ?? Infinity);
}

/** True for a lease of a run with a slot that expired before this append: another run may have the slot by now. */
export function isLate(run: Kept, by: AppendRequest["lease"], now: number): boolean {
  const { head, lease } = run;
  if (!by || head.flow?.slot === undefined || lengthOf(run) === 1) return false;
  return lease === null || lease.owner !== by.owner || lease.until <= now;
}

/** The run that has not ended and has the singleton of a new one. */
export function singletonOf(runs: Runs, { workflow, flow }: RunHead): string | null {
  if (flow?.singleton === undefined) return null;
  for (const { head, deleted } of runs.all())
    if (
      !deleted &&
      head.workflow === workflow &&
      head.flow?.singleton === flow.singleton &&
      ["running", "suspended", "paused"].includes(head.status)
    )
      return head.runId;
  return null;
}

/** The runs that a claim takes: of each workflow in turn, those that are due longest and have a free slot. */
export function claimable(runs: Runs, request: ClaimRequest, turn: number): Kept[] {
  const { workflow, version, dueAt, limit, slots } = request;
  const most = pageSize(limit);
  const now = runs.now();
  const taken = new Map<string, number>();
  for (const run of slots === undefined ? [] : runs.all()) {
    const slot = slotOf(run, slots);
    if (slot !== null && (isLive(run, now) || run.claimedUntil > now))
      taken.set(slot, (taken.get(slot) ?? 0) + 1);
  }
  const due = new Map([...new Set(workflow)].map((name) => [name, new Map<string | null, Kept[]>()]));
  for (const run of runs.all()) {
    const lists = due.get(run.head.workflow);
    if (lists === undefined || run.deleted || !isFound(run.head, { version })) continue;
    if (!runs.isDue(run, dueAt)) continue;
    const slot = slotOf(run, slots);
    const free = slot === null ? most : (slots?.[run.head.workflow] ?? 0) - (taken.get(slot) ?? 0);
    const found = lists.get(slot) ?? [];
    lists.set(slot, found);
    if (free > 0) keepFirst(found, run, Math.min(free, most));
  }
  const inOrder = [...due.values()].map((lists) =>
    [...lists.values()].flat().toSorted((a, b) => wakeAt(a) - wakeAt(b) || a.order - b.order),
  );
  return inTurns(inOrder, most, turn);
}

/** What `storage.limits` is. */
export function memoryLimits(runs: Runs): StorageLimits {
  const texts = new Map<string, { readonly value: string; readonly until: number }>();
  const valueOf = (name: string): string | null => {
    const text = texts.get(name);
    if (text !== undefined && text.until > runs.now()) return text.value;
    texts.delete(name);
    return null;
  };
  return {
    slots: async () => slotUse(runs),
    read: async (name) => ({ value: valueOf(name), now: runs.now() }),
    swap: async (name, before, after, keepMs) => {
      if (valueOf(name) !== before) return false;
      texts.set(name, { value: after, until: runs.now() + keepMs });
      return true;
    },
    texts: async (prefix) =>
      [...texts.keys()].toSorted().flatMap((name) => {
        const value = name.startsWith(prefix) ? valueOf(name) : null;
        return value === null ? [] : [{ name, value }];
      }),
  };
}

function slotUse(runs: Runs): SlotUse[] {
  const now = runs.now();
  const uses = new Map<string, { workflow: string; slot: string; taken: number; waiting: number }>();
  for (const run of runs.all()) {
    const { workflow, flow } = run.head;
    if (flow?.slot === undefined || run.deleted) continue;
    const taken = Number(isLive(run, now));
    const waiting = Number(taken === 0 && run.head.wakeAt !== null && run.head.wakeAt <= now);
    if (taken + waiting === 0) continue;
    const key = keyOf(workflow, flow.slot);
    const use = uses.get(key) ?? { workflow, slot: flow.slot, taken: 0, waiting: 0 };
    use.taken += taken;
    use.waiting += waiting;
    uses.set(key, use);
  }
  return [...uses.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use);
}
