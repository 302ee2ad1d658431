/**
 * Faults between a process and its storage, and their rates in one simulation. Proven in test/sim.test.ts.
 */

import type { Operation, Random } from "@durable/testing";

/** What can go wrong with a request in the simulator. */
export type NetworkFault =
  /** Never arrives; the sender learns it late. */
  | "lose-request"
  /** Applied, and reported as failed. */
  | "lose-reply"
  /** Reported as failed, and applied long after. */
  | "apply-late"
  /** Arrives twice. */
  | "duplicate"
  /** Takes longer than any lease. */
  | "stall"
  /** Refused as if another writer had been first. */
  | "fence"
  /** Refused: too many requests. */
  | "throttle"
  /** The sender dies: before the request is sent, after it was applied, or while it is on its way. */
  | "crash-before"
  | "crash-after"
  | "crash-then-apply"
  /** The sender is asked to end while the request is on its way, and killed a while later. */
  | "ask-to-end"
  /** A read without its last batches, which says so, or a list or a claim without some runs. */
  | "cut-short"
  /** A read of the journal as it was a moment ago. */
  | "stale"
  /** Acknowledged and forgotten. */
  | "forget";

const writes: readonly Operation[] = [
  "append",
  "release",
  "delete",
  "note",
  "dropChapters",
  "claim",
  "schedule",
];
const always: readonly Operation[] = [...writes, "read", "list", "lease"];

/** The operations that each fault can hit. */
export const faultTargets: Readonly<Record<NetworkFault, readonly Operation[]>> = {
  "lose-request": always,
  "lose-reply": always,
  "apply-late": writes,
  duplicate: [...writes, "lease"],
  stall: always,
  fence: ["append"],
  throttle: always,
  "crash-before": always,
  "crash-after": always,
  "crash-then-apply": [...writes, "lease"],
  "ask-to-end": ["append"],
  "cut-short": ["read", "list", "claim", "schedule"],
  stale: ["read"],
  forget: ["append"],
};

export type Rates = Readonly<Partial<Record<NetworkFault, number>>>;

/**
 * Draws the rates of one simulation, most of them zero, because rare combinations find bugs that steady noise
 * hides.
 */
export function randomRates(random: Random): Rates {
  if (random.chance(0.1)) return {};
  const scale = random.pick([0.005, 0.02, 0.06]);
  const rates: Partial<Record<NetworkFault, number>> = {};
  for (const fault of Object.keys(faultTargets) as NetworkFault[]) {
    // A storage that loses acknowledged data weakens every other check, so it is rare.
    const share = fault === "forget" ? 0.03 : 0.4;
    // A termination finds bugs only at certain requests, so it is more frequent.
    const most = fault === "ask-to-end" ? scale * 3 : scale;
    if (random.chance(share)) rates[fault] = random.next() * most;
  }
  return rates;
}

/** The fault that hits this request, if any. */
export function drawFault(random: Random, rates: Rates, operation: Operation): NetworkFault | null {
  for (const fault in rates) {
    const kind = fault as NetworkFault;
    if (faultTargets[kind].includes(operation) && random.chance(rates[kind] ?? 0)) return kind;
  }
  return null;
}

/** A promise that never settles, as a dead process sees it. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

export function connectionLost(operation: Operation): Error {
  return new Error(`The connection was lost during ${operation}.`);
}
