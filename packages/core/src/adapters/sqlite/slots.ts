/**
 * Slots in the file: which runs have one, and which runs a claim may take.
 *
 * sqlite-slots.1. A run has its slot exactly as long as its lease is live, so a dead process has none. A slot is counted and
 *     taken in one commit.
 * sqlite-slots.2. An append extends a live lease. One that has expired is taken again by `lease`, which counts.
 * sqlite-slots.3. For a claim, a run that was claimed has its slot, too, so that a fleet claims no more runs than can begin.
 *     The claim of a dead process is over.
 */

import { singletonConflict } from "../../ports/storage-kit.ts";
import type { AppendRequest, SlotLimits, SlotUse, StorageLimits } from "../../ports/storage.ts";
import { isDead } from "./process.ts";
import type { Row, Statements } from "./statements.ts";

/** Refuses a run that begins, or goes on after its end, while another run has its singleton. */
export function refuseSingleton(sql: Statements, { locator, position, head, revives }: AppendRequest): void {
  const { workflow, runId, flow } = head;
  if (flow?.singleton === undefined || (position > 0 && !revives)) return;
  if (position === 0 && sql.length.get(locator) !== undefined) return;
  const other = (sql.singletonOf.get(workflow, flow.singleton) as Row | undefined)?.["run_id"];
  // A repeated append finds the run itself, and is a conflict of positions.
  if (other !== undefined && other !== runId) throw singletonConflict(runId, String(other));
}

/** True for a lease of a run with a slot that expired before this append: another run may have the slot by now. */
export function isLate(
  sql: Statements,
  { locator, position, head, lease }: AppendRequest,
  now: number,
): boolean {
  if (!lease || position === 0 || head.flow?.slot === undefined) return false;
  return sql.ownLease.get(locator, lease.owner, now) === undefined;
}

/** Records what the head says about slots and times. Appends change it only where there is a time. */
export function keepFlow(sql: Statements, { locator, position, head: { flow } }: AppendRequest): void {
  if (flow === undefined || (position > 0 && flow.startAt === undefined)) return;
  sql.setFlow.run(JSON.stringify(flow), flow.slot ?? null, flow.singleton ?? null, flow.fair ?? "", locator);
}

/** How many runs have this slot now, those of dead processes left out. */
export function useOf(
  sql: Statements,
  { workflow, slot, but = "" }: { readonly workflow: string; readonly slot: string; readonly but?: string },
  now: number,
): { readonly driven: number; readonly claimed: number } {
  const rows = sql.inSlot.all(workflow, slot, but) as Row[];
  const processes = new Set(rows.map(({ process }) => String(process)));
  const dead = [...processes].filter(isDead);
  const live = rows.filter(({ process }) => !dead.includes(String(process)));
  const count = (until: string): number => live.filter((row) => Number(row[until]) > now).length;
  return { driven: count("lease_until"), claimed: count("claimed_until") };
}

/** True when other runs have all slots of this one; its claim is over then. */
export function isFull(sql: Statements, run: Row, slots: SlotLimits | undefined, now: number): boolean {
  const { workflow, slot = null, locator = null } = run;
  const limit = slot === null ? undefined : slots?.[String(workflow)];
  if (limit === undefined) return false;
  const of = { workflow: String(workflow), slot: String(slot), but: String(locator) };
  const full = useOf(sql, of, now).driven >= limit;
  if (full) sql.unclaimSlot.run(locator);
  return full;
}

/** What is taken and waits, of all slots that have due runs or drivers. */
function slotUse(sql: Statements, now: number): SlotUse[] {
  const uses = new Map<string, { workflow: string; slot: string; taken: number; waiting: number }>();
  const add = (row: Row, taken: number, waiting: number): void => {
    const [workflow, slot] = [String(row["workflow"]), String(row["slot"])];
    const key = JSON.stringify([workflow, slot]);
    const use = uses.get(key) ?? { workflow, slot, taken: 0, waiting: 0 };
    use.taken += taken;
    use.waiting += waiting;
    uses.set(key, use);
  };
  for (const row of sql.heldInSlots.all() as Row[]) {
    if (Number(row["lease_until"]) <= now) continue;
    const hasDied = isDead(String(row["process"]));
    const isDue = row["wake_at"] !== null && Number(row["wake_at"]) <= now;
    add(row, Number(!hasDied), Number(hasDied && isDue));
  }
  for (const row of sql.dueInSlots.all(now) as Row[]) add(row, 0, Number(row["runs"]));
  return [...uses]
    .filter(([, { taken, waiting }]) => taken + waiting > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, use]) => use);
}

interface Access {
  readonly read: <T>(work: () => T) => Promise<T>;
  readonly write: <T>(work: () => T) => Promise<T>;
  /** Without a sync of the disk. */
  readonly writeUnsynced: (work: () => void) => Promise<void>;
  readonly now: () => number;
}

/** What `storage.limits` is. */
export function sqliteLimits(sql: Statements, { read, write, writeUnsynced, now }: Access): StorageLimits {
  const valueOf = (name: string): string | null =>
    ((sql.text.get(name, now()) as Row | undefined)?.["value"] as string | undefined) ?? null;
  return {
    slots: () => read(() => slotUse(sql, now())),
    read: (name) => read(() => ({ value: valueOf(name), now: now() })),
    swap: (name, before, after, keepMs) =>
      write(() => {
        if (valueOf(name) !== before) return false;
        sql.dropTexts.run(now());
        sql.keepText.run(name, after, now() + keepMs);
        return true;
      }),
    put: (name, value, keepMs) =>
      writeUnsynced(() => {
        sql.dropTexts.run(now());
        sql.keepText.run(name, value, now() + keepMs);
      }),
    texts: (prefix) =>
      read(() =>
        (sql.texts.all(now(), prefix) as Row[]).map((row) => ({
          name: String(row["name"]),
          value: String(row["value"]),
        })),
      ),
  };
}
