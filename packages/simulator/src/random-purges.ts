/**
 * Purges by the operator, in some plans. Drawn from a stream of its own, so that older
 * seeds keep the rest of their plans. Proven in test/sim-purge.test.ts.
 */

import type { PurgeOptions } from "@durable/core";
import { seeded } from "@durable/testing";

/** Purges at given times, and whether the storage deletes several runs at once. */
export function purgesOf(seed: number) {
  const random = seeded(seed * 1_540_483_477 + 7);
  const count = random.chance(0.25) ? random.between(1, 4) : 0;
  const deletesTogether = random.chance(0.7);
  const purges = Array.from({ length: count }, () => ({
    kind: "purge" as const,
    at: random.between(3_000, 19_500),
    target: random.between(0, 99),
    ms: 0,
  }));
  return { deletesTogether, purges };
}

/** What the operator deletes: most of the time everything that has ended, sometimes by age or number. */
export function purgeOf(target: number): PurgeOptions {
  return {
    status: ["completed", "failed", "cancelled"],
    olderThan: target % 3 === 0 ? 2_000 : 0,
    ...(target % 5 === 0 && { keep: 1 }),
    ...(target % 7 === 0 && { limit: 2 }),
  };
}
