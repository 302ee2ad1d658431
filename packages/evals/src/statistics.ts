/**
 * Means with 95 % intervals, by a bootstrap that draws the same numbers every time, so that a repeated report is the same.
 * Proven in test/statistics.test.ts against known distributions.
 */

/** A mean, and where it lies with 95 % confidence. */
export interface Estimate {
  readonly n: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

const draws = 2_000;

/** The mean of some numbers; `null` of none. */
export function estimate(values: readonly number[], seed: string): Estimate | null {
  const n = values.length;
  if (n === 0) return null;
  const mean = meanOf(values);
  const random = randomFrom(seed);
  const means = Float64Array.from({ length: draws }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(random() * n)] as number;
    return sum / n;
  }).toSorted();
  return { n, mean, low: quantile(means, 0.025), high: quantile(means, 0.975) };
}

/** What half of the runs, and 95 % of them, took at most, in milliseconds. */
export interface Times {
  readonly median: number;
  readonly p95: number;
}

/** The median and the 95th percentile of some times; `null` of none. */
export function timesOf(times: readonly number[]): Times | null {
  if (times.length === 0) return null;
  const sorted = Float64Array.from(times).toSorted();
  return { median: Math.round(quantile(sorted, 0.5)), p95: Math.round(quantile(sorted, 0.95)) };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function quantile(sorted: Float64Array, at: number): number {
  const place = at * (sorted.length - 1);
  const low = sorted[Math.floor(place)] as number;
  const high = sorted[Math.ceil(place)] as number;
  return low + (high - low) * (place - Math.floor(place));
}

/** Numbers from 0 to 1 that depend on the text alone (mulberry32, seeded by FNV-1a). */
export function randomFrom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) as number), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
