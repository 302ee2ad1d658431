import { crashEverywhere, type Fault } from "@durable/testing";
import type { Workflow } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { answers, everyOperation } from "../support/every-operation.ts";

const everyFault: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
  "conflict",
];

type Name = "sequence" | "branches" | "works" | "family";
type Histories = readonly [slowSeed: number | undefined, faults: readonly Fault[]][];

const full = inject("full");
/** Seeds of the storage's slowness, each with the faults it meets. In the sample, each workflow is taken once. */
const everyHistory: Histories = [
  [undefined, everyFault],
  [1, everyFault],
];
const sample: Record<Name, Histories> = {
  sequence: [[undefined, ["crash-before"]]],
  branches: [[1, ["lose-reply"]]],
  works: [[1, ["crash-before"]]],
  family: [[undefined, ["lose-reply"]]],
};
/** One grandchild instead of two: the largest workflow has the most histories, and the longest. */
const n = full ? 3 : 1;

// H10 and H2: same output, one settlement a key, nothing after the end, cold replay without any work.
describe.each<Name>(["sequence", "branches", "works", "family"])("H10 crash everywhere: %s", (name) => {
  // Hundreds of histories: a busy machine takes its time.
  const timeout = 600_000;
  test.each(full ? everyHistory : sample[name])(
    "same output as the calm run, storage slowed by seed %s",
    { timeout },
    async (slowSeed, faults) => {
      const { effects, ...flows } = everyOperation();
      const flow: Workflow<{ n: number }, unknown> = flows[name];
      const { cases, calm, ambient } = await crashEverywhere(flow, {
        input: { n },
        resume: answers,
        faults,
        slowSeed,
      });
      expect(calm.outcome.status).toBe("completed");
      expect(cases.length).toBeGreaterThan(16 * faults.length);
      expect(cases.every(({ hit }) => hit)).toBe(true);
      expect(ambient).toEqual([]);
      // A crash repeats a piece of work at most once, always under the same idempotency key.
      for (const { ran, point, fault } of cases) {
        const told = `${fault} at ${point.operation} ${point.index}`;
        for (const [key, count] of Object.entries(ran))
          expect(count - (calm.ran[key] ?? 0), `${told}: ${key}`).toBeLessThanOrEqual(1);
      }
      const keys = Map.groupBy(effects, ({ key }) => key).values();
      for (const list of keys) expect(new Set(list.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    },
  );
});
