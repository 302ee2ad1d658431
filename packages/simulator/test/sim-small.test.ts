/** Histories with pages of two runs, batches of two entries, and lines of two ancestors. */

import { expect, inject, test } from "vitest";
import { makeSmall } from "../../core/test/support/small-sizes.ts";
import { planOf, simulate } from "../src/index.ts";
import type { Plan } from "../src/plan.ts";
import { complaintOf } from "./support/sim-sweep.ts";

makeSmall();

/** What comes to a border when pages and lines are short. */
const isWide = ({ actions, flows }: Plan): boolean =>
  actions.some(({ kind }) => kind === "purge" || kind === "delete" || kind === "fork") &&
  JSON.stringify(flows).includes('"child"');

test("small pages, batches and lines", { timeout: 600_000 }, async () => {
  // The sample begins where the histories are short.
  const [first, count] = inject("full") ? [1, 100] : [159, 4];
  for (let [seed, left] = [first, count]; left > 0; seed++) {
    const plan = planOf(seed);
    if (!isWide(plan)) continue;
    left -= 1;
    expect(complaintOf(await simulate({ plan }))).toBe("");
  }
});
