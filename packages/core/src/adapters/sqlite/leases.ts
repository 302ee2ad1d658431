/** The lease of a run, in the tables of the file. It runs inside a commit (commits.ts). */

import type { Lease, SlotLimits } from "../../ports/storage.ts";
import { isDead, thisProcess } from "./process.ts";
import { isFull } from "./slots.ts";
import { noteOf, type Row, type Statements } from "./statements.ts";
import { checkNote } from "./sums.ts";

interface LeaseCall {
  readonly locator: string;
  readonly owner: string;
  readonly ttlMs: number;
  readonly slots: SlotLimits | undefined;
}

/** Grants or extends the lease, or gives it back. `null` while another live owner has it. */
export function leaseRun(
  sql: Statements,
  { locator, owner, ttlMs, slots }: LeaseCall,
  { now, path }: { readonly now: number; readonly path: string },
): Lease | null {
  const run = sql.lease.get(locator) as Row | undefined;
  if (run === undefined) return null;
  const again = run["owner"] === owner;
  if (!again && Number(run["lease_until"]) > now && !isDead(String(run["process"]))) return null;
  if (!again && ttlMs <= 0) return null;
  checkNote(run, path);
  const length = Number(run["length"]);
  const isLive = again && Number(run["lease_until"]) > now;
  if (ttlMs > 0 && !isLive && isFull(sql, run, slots, now)) return { starts: 0, length, full: true };
  const since = run["starts_at"] === length ? Number(run["starts"]) : 0;
  const starts = Math.max(again ? since : since + 1, 1);
  if (ttlMs <= 0) {
    sql.untakeLease.run(starts - 1, length, locator);
    return { starts, length };
  }
  sql.takeLease.run(owner, thisProcess, now + ttlMs, again ? since : since + 1, length, locator);
  if (run["slot"] !== null) sql.leaseSlot.run(locator);
  const note = noteOf(run);
  const tookOver = !again && run["owner"] !== null;
  return { starts, length, ...(tookOver && { tookOver }), ...(note !== null && { blocked: note }) };
}
