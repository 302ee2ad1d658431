/** Schedules, paused workflows, and workers of some workflows or versions, in plans that have them. */

import { describe, expect, inject, test } from "vitest";
import { planOf, simulate, tally, type Plan } from "../src/sim/index.ts";
import { complaintOf } from "./support/sim-sweep.ts";

const count = 10;

/** The first plans that have a feature. */
function plansWith(has: (plan: Plan) => boolean): Plan[] {
  const plans: Plan[] = [];
  for (let seed = 1; plans.length < count; seed++) {
    const plan = planOf(seed);
    if (has(plan)) plans.push(plan);
  }
  return plans;
}

// As many seeds as a sweep has are no more sure in the longer tests.
describe.skipIf(inject("full"))("plans with a feature of a fleet", () => {
  test.each([
    {
      feature: "schedules",
      has: ({ schedules }: Plan) => schedules !== undefined,
      meets: [
        "a run of a tick",
        "a schedule that was defined",
        "a schedule that was paused",
        "a schedule that was resumed",
        "a schedule that was deleted",
        "a tick that was missed",
        "a tick left out beside a run",
      ],
    },
    {
      feature: "runs with limits, delays and keys",
      has: ({ queue }: Plan) => queue !== undefined,
      meets: [
        "a run that began at its time",
        "a run that waited for its turn",
        "a start that moved a run",
        "a start with a priority",
        "an attempt under a limit",
      ],
    },
    {
      feature: "paused workflows",
      has: ({ pauses }: Plan) => pauses === true,
      meets: ["a paused workflow"],
    },
    {
      feature: "workers of some workflows",
      has: ({ share, workers }: Plan) => share === "workflows" && workers > 1,
      meets: ["work in a worker of some workflows"],
    },
    {
      feature: "workers of some versions",
      has: ({ share }: Plan) => share === "versions",
      meets: ["work in a worker of version first", "work in a worker of version changed"],
    },
  ])("$feature", { timeout: 300_000 }, async ({ has, meets }) => {
    const met = new Map<string, number>();
    for (const plan of plansWith(has)) {
      const simulation = await simulate({ plan });
      tally(met, simulation.met);
      expect(complaintOf(simulation)).toBe("");
    }
    expect(meets.filter((what) => !met.has(what))).toEqual([]);
  });
});
