/** Two tenants, one handler, a policy by id prefix: a hostile tenant reaches nothing of the other. */

import { expect, inject, test } from "vitest";
import { attackTenant, broken, policy } from "./support/tenants.ts";

const sequences = inject("full") ? 400 : 15;

test("a hostile tenant reads, changes, answers and pre-empts nothing of the other", async () => {
  const { problems, requests, statuses, ...tried } = await attackTenant({ sequences, seed: 17 });
  expect(problems).toEqual([]);
  expect(tried.sequences).toBe(sequences);
  expect(requests).toBeGreaterThan(sequences * 5);
  // Much of what it does is allowed, so that the attack does not end at the door.
  for (const status of ["200", "202", "403", "404", "409"])
    expect([status, statuses[status]]).not.toContain(undefined);
});

test.each(Object.entries(broken))("the model notices a broken rule: %s", async (_rule, allows) => {
  const { problems } = await attackTenant({
    sequences: 1_000,
    seed: 17,
    authorize: async (request, action) => allows(action) || policy(request, action),
  });
  expect(problems).not.toEqual([]);
});
