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

/** Seeds of the storage's slowness, each with the faults it meets. */
const histories: readonly [slowSeed: number | undefined, faults: readonly Fault[]][] = inject("full")
  ? [
      [undefined, everyFault],
      [1, everyFault],
    ]
  : [
      [undefined, ["crash-before"]],
      [1, ["lose-reply"]],
    ];

// H10 and H2: same output, one settlement a key, nothing after the end, cold replay without any work.
describe.each(["sequence", "branches", "works", "family"] as const)("H10 crash everywhere: %s", (name) => {
  // Hundreds of histories: a busy machine takes its time.
  const timeout = 600_000;
  // The largest workflow is taken once.
  test.each(inject("full") || name !== "family" ? histories : histories.slice(1))(
    "same output as the calm run, storage slowed by seed %s",
    { timeout },
    async (slowSeed, faults) => {
      const { effects, ...flows } = everyOperation();
      const flow: Workflow<{ n: number }, unknown> = flows[name];
      const { cases, calm, ambient } = await crashEverywhere(flow, {
        input: { n: 3 },
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
