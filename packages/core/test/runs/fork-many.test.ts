import { MemoryStorage } from "@durable/core";
import { expect, test } from "vitest";
import { forkMany } from "./support/fork-many.ts";

test("H44 forks of a run of 10,000 steps: each writes one small batch and its own new entries", async () => {
  const found = await forkMany(new MemoryStorage(), { steps: 10_000, forks: 12 });
  expect(found.largest).toBeLessThanOrEqual(1_000);
  expect(found.repeated).toBe(0);
  expect(found.entries).toBe(found.expected);
});
