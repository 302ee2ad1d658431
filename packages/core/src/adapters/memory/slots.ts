/**
 * Slots and texts of limits in memory. Proven by the conformance suite.
 *
 * memory-slots.1. A run has its slot exactly as long as its lease is live. For a claim, a run that was claimed has it, too.
 * memory-slots.2. An append extends a live lease. One that has expired is taken again by `lease`, which counts.
 */

import type { AppendRequest, RunHead, SlotLimits, SlotUse, StorageLimits } from "../../ports/storage.ts";
import type { MemoryDue } from "./due.ts";
import { lengthOf, type Kept } from "./kept.ts";

/** The runs of a storage, and its clock. */
interface Runs {
  all(): Iterable<Kept>;
  now(): number;
}

const keyOf = (workflow: string, slot: string): string => JSON.stringify([workflow, slot]);

const isLive = ({ lease, deleted }: Kept, now: number): boolean =>
  !deleted && lease !== null && lease.until > now;

/** True when other runs have all slots of this one. */
export function isFull(due: MemoryDue, run: Kept, slots: SlotLimits | undefined): boolean {
  const { workflow, flow } = run.head;
  const limit = slots?.[workflow];
  if (limit === undefined || flow?.slot === undefined) return false;
  return due.taken(workflow, flow.slot, { but: run, claimed: false }) >= limit;
}

/** True for a lease of a run with a slot that expired before this append: another run may have the slot by now. */
export function isLate(run: Kept, by: AppendRequest["lease"], now: number): boolean {
  const { head, lease } = run;
  if (!by || head.flow?.slot === undefined || lengthOf(run) === 1) return false;
  return lease === null || lease.owner !== by.owner || lease.until <= now;
}

/** The other run that has not ended and has the singleton of this one, which begins or goes on. */
export function singletonOf(runs: Runs, { runId, workflow, flow }: RunHead): string | null {
  if (flow?.singleton === undefined) return null;
  for (const { head, deleted } of runs.all())
    if (
      !deleted &&
      head.runId !== runId &&
      head.workflow === workflow &&
      head.flow?.singleton === flow.singleton &&
      ["running", "suspended", "paused"].includes(head.status)
    )
      return head.runId;
  return null;
}

/** What `storage.limits` is. `changed` is called when a text is another one. */
export function memoryLimits(runs: Runs, changed: () => void): StorageLimits {
  const texts = new Map<string, { readonly value: string; readonly until: number }>();
  const valueOf = (name: string): string | null => {
    const text = texts.get(name);
    if (text !== undefined && text.until > runs.now()) return text.value;
    texts.delete(name);
    return null;
  };
  const keep = (name: string, value: string, keepMs: number): void => {
    texts.set(name, { value, until: runs.now() + keepMs });
    changed();
  };
  return {
    slots: async () => slotUse(runs),
    read: async (name) => ({ value: valueOf(name), now: runs.now() }),
    swap: async (name, before, after, keepMs) => {
      if (valueOf(name) !== before) return false;
      keep(name, after, keepMs);
      return true;
    },
    put: async (name, value, keepMs) => keep(name, value, keepMs),
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
