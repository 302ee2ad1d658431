/** Schedules, paused workflows, and workers of some workflows or versions, in plans that have them. */

import { describe, expect, inject, test } from "vitest";
import { tally } from "../src/coverage.ts";
import { planOf, simulate } from "../src/index.ts";
import type { Plan } from "../src/plan.ts";
import { complaintOf } from "./support/sim-sweep.ts";

const full = inject("full");
/** At most so many plans of each feature, and at least so many. Between them, the events of the feature decide. */
const [least, most] = full ? [20, 20] : [1, 10];

/** The first plans that have a feature. A sample begins with short ones that meet the events of the feature. */
function* plansWith(has: (plan: Plan) => boolean, short: readonly number[]): Generator<Plan> {
  const begin = full ? [] : short;
  for (let n = 0, found = 0; found < most; n++) {
    const plan = planOf(begin[n] ?? n - begin.length + 1);
    if (!has(plan)) continue;
    found += 1;
    yield plan;
  }
}

describe("plans with a feature of a fleet", () => {
  test.each([
    {
      feature: "schedules",
      has: ({ schedules }: Plan) => schedules !== undefined,
      short: [131, 73],
      meets: [
        "a run of a tick",
        "a schedule that was defined",
        "a schedule that was paused",
        "a schedule that was unpaused",
        "a schedule that was deleted",
        "a tick that was missed",
        "a tick left out beside a run",
      ],
    },
    {
      feature: "runs with limits, delays and keys",
      has: ({ queue }: Plan) => queue !== undefined,
      short: [161, 171],
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
      short: [178],
      meets: ["a paused workflow"],
    },
    {
      feature: "workers of some workflows",
      has: ({ share, workers }: Plan) => share === "workflows" && workers > 1,
      short: [161],
      meets: ["work in a worker of some workflows"],
    },
    {
      feature: "workers of some versions",
      has: ({ share }: Plan) => share === "versions",
      short: [213],
      meets: ["work in a worker of version first", "work in a worker of version changed"],
    },
  ])("$feature", { timeout: 300_000 }, async ({ has, short, meets }) => {
    const met = new Map<string, number>();
    const unmet = (): string[] => meets.filter((what) => !met.has(what));
    let done = 0;
    for (const plan of plansWith(has, short)) {
      const simulation = await simulate({ plan });
      tally(met, simulation.met);
      expect(complaintOf(simulation)).toBe("");
      done += 1;
      if (done >= least && unmet().length === 0) break;
    }
    expect(unmet()).toEqual([]);
  });
});
