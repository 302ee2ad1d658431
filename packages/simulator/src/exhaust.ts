/**
 * Every single fault: one simulation for each request of a fault-free history and each fault it can have.
 * Proven in test/sim.test.ts.
 */

import { faultTargets, type NetworkFault } from "./faults.ts";
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

/** Replies and requests that are lost, and senders that die before, during and after a request. */
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
  // Schedules, readers and recorders send requests for as long as the simulation runs: too many to try each.
  const { schedules: _, ...rest } = plan;
  const quiet: Plan = {
    ...rest,
    rates: {},
    actions: [],
    skews: [],
    only: [],
    readers: 0,
    records: 0,
    strangers: 0,
  };
  const calm = await simulate({ plan: quiet });
  const points = calm.requests;
  let cases = 0;
  let failed: Simulation | null = calm.violations.length > 0 ? calm : null;
  for (const point of points) {
    const [, operation] = point.split(" ");
    for (const fault of faults) {
      if (failed !== null || !faultTargets[fault].some((other) => other === operation)) continue;
      cases += 1;
      const simulation = await simulate({ plan: { ...quiet, only: [`${point} ${fault}`] } });
      if (simulation.violations.length > 0) failed = simulation;
    }
  }
  return { points: points.length, cases, failed };
}
