import { MemoryStorage } from "@durable/core";
import { expect, inject, test } from "vitest";
import { forkMany } from "./support/fork-many.ts";

const steps = inject("full") ? 10_000 : 2_000;

test(`H44 forks of a run of ${steps} steps: each writes one small batch and its own new entries`, async () => {
  const found = await forkMany(new MemoryStorage(), { steps, forks: 12 });
  expect(found.largest).toBeLessThanOrEqual(1_000);
  expect(found.repeated).toBe(0);
  expect(found.entries).toBe(found.expected);
});
