import { expect, inject, test } from "vitest";
import { estimate, randomFrom } from "../src/statistics.ts";

/** Numbers that are normally distributed (Box and Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

test.for([
  ["of normal numbers", (random: () => number) => 5 + 2 * normal(random), 5, 2],
  ["of wins and losses", (random: () => number) => (random() < 0.3 ? 1 : 0), 0.3, Math.sqrt(0.21)],
] as const)("the interval %s holds the true mean about as often as it says", ([, draw, mean, deviation]) => {
  const [samples, size] = [inject("full") ? 400 : 100, 100];
  const random = randomFrom("samples");
  let held = 0;
  let width = 0;
  for (let i = 0; i < samples; i++) {
    const values = Array.from({ length: size }, () => draw(random));
    const { low, high } = estimate(values, `sample ${i}`)!;
    if (low <= mean && mean <= high) held += 1;
    width += (high - low) / samples;
  }
  // 95 % of the time, within three standard errors of so many trials; and as wide as theory says.
  expect(Math.abs(held / samples - 0.95)).toBeLessThan(3 * Math.sqrt((0.95 * 0.05) / samples));
  const expected = (2 * 1.96 * deviation) / Math.sqrt(size);
  expect(width / expected).toBeGreaterThan(0.95);
  expect(width / expected).toBeLessThan(1.05);
});

test("the same numbers have the same interval every time, and none have none", () => {
  const values = [0.13, 0.72, 0.91, 0.24, 0.35, 0.77];
  expect(estimate(values, "a")).toEqual(estimate(values, "a"));
  expect(estimate(values, "a")).not.toEqual(estimate(values, "b"));
  expect(estimate([], "a")).toBe(null);
  expect(estimate([1, 1, 1], "a")).toEqual({ n: 3, mean: 1, low: 1, high: 1 });
});
