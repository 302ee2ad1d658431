/** What may go wrong between a process and its storage, and how often in one simulation. */

import type { Operation } from "../faulty-storage.ts";
import type { Random } from "../random.ts";

export type NetworkFault =
  /** Never arrives; the sender is told so late. */
  | "lose-request"
  /** Applied; the sender is told that it failed. */
  | "lose-reply"
  /** The sender is told that it failed, and it is applied long after. */
  | "apply-late"
  /** Arrives twice. */
  | "duplicate"
  /** Takes longer than any lease. */
  | "stall"
  /** Refused as if others had been first. */
  | "fence"
  /** Refused: too many requests. */
  | "throttle"
  /** The sender dies: before it is sent, after it was applied, or while it is under way. */
  | "crash-before"
  | "crash-after"
  | "crash-then-apply"
  /** The sender is asked to end while it is under way, and ended a while later. */
  | "ask-to-end"
  /** A read that lacks its last batches and says so, or a list that lacks runs. */
  | "cut-short"
  /** A read of the journal as it was a moment ago. */
  | "stale"
  /** Acknowledged and forgotten. */
  | "forget";

const always: readonly Operation[] = ["append", "read", "list", "lease", "release", "delete"];

/** Which operations each fault can befall. */
export const befalls: Readonly<Record<NetworkFault, readonly Operation[]>> = {
  "lose-request": always,
  "lose-reply": always,
  "apply-late": ["append", "release", "delete"],
  duplicate: ["append", "lease", "release", "delete"],
  stall: always,
  fence: ["append"],
  throttle: always,
  "crash-before": always,
  "crash-after": always,
  "crash-then-apply": ["append", "lease", "release", "delete"],
  "ask-to-end": ["append"],
  "cut-short": ["read", "list"],
  stale: ["read"],
  forget: ["append"],
};

export type Rates = Readonly<Partial<Record<NetworkFault, number>>>;

/** Each simulation draws its own rates, most of them zero: rare mixtures are where bugs live. */
export function randomRates(random: Random): Rates {
  if (random.chance(0.1)) return {};
  const scale = random.pick([0.005, 0.02, 0.06]);
  const rates: Partial<Record<NetworkFault, number>> = {};
  for (const fault of Object.keys(befalls) as NetworkFault[]) {
    // A storage that lies breaks the promise of all others: rarely, and rarely beside them.
    const share = fault === "forget" ? 0.03 : 0.4;
    // Whoever is asked to end must be at the right place to show anything.
    const most = fault === "ask-to-end" ? scale * 3 : scale;
    if (random.chance(share)) rates[fault] = random.next() * most;
  }
  return rates;
}

/** The fault that befalls this request, if any. */
export function drawFault(random: Random, rates: Rates, operation: Operation): NetworkFault | null {
  for (const fault in rates) {
    const kind = fault as NetworkFault;
    if (befalls[kind].includes(operation) && random.chance(rates[kind] ?? 0)) return kind;
  }
  return null;
}
