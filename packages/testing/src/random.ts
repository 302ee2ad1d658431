/** Repeatable randomness: one seed, one sequence. Proven in test/sim.test.ts of the simulator. */

/** A random source with a seed: the same seed gives the same sequence. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** True with probability `p`. */
  chance(p: number): boolean;
  /** One element of the list. */
  pick<T>(list: readonly T[]): T;
}

/** Creates a random source (Mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    chance: (p) => next() < p,
    pick: (list) => {
      const item = list[between(0, list.length - 1)];
      if (item === undefined) throw new Error("Cannot pick from an empty list.");
      return item;
    },
  };
}
