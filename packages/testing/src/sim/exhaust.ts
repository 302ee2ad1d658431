/** Every single fault: one simulation for every request of a quiet history and every way it can go wrong. */

import { befalls, type NetworkFault } from "./faults.ts";
import type { Plan } from "./plan.ts";
import { simulate, type Simulation } from "./simulate.ts";

/** The result of `exhaust`. */
export interface Exhausted {
  /** Requests of the history without faults. */
  readonly points: number;
  readonly cases: number;
  /** The first simulation that broke an invariant; `null` if none did. */
  readonly failed: Simulation | null;
}

/** Applied and unknown, lost, and the death of the sender before, after and meanwhile. */
export const singleFaults: readonly NetworkFault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
];

/** Simulates a plan without faults and actions, then with one fault at each of its requests. */
export async function exhaust(
  plan: Plan,
  faults: readonly NetworkFault[] = singleFaults,
): Promise<Exhausted> {
  // Those who read along and record on their own ask for as long as anybody lives: too often for every request.
  const quiet: Plan = { ...plan, rates: {}, actions: [], skews: [], only: [], readers: 0, records: 0 };
  const calm = await simulate({ plan: quiet });
  const points = calm.requests;
  let cases = 0;
  let failed: Simulation | null = calm.violations.length > 0 ? calm : null;
  for (const point of points) {
    const [, operation] = point.split(" ");
    for (const fault of faults) {
      if (failed !== null || !befalls[fault].some((other) => other === operation)) continue;
      cases += 1;
      const simulation = await simulate({ plan: { ...quiet, only: [`${point} ${fault}`] } });
      if (simulation.violations.length > 0) failed = simulation;
    }
  }
  return { points: points.length, cases, failed };
}
