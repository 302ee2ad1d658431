import { crashAtEveryAppend, withoutEnd, type CrashCase } from "@durable/testing";
import type { Outcome, Workflow } from "@durable/core";
import { describe, expect, test } from "vitest";
import { answers, everyOperation } from "./support/every-operation.ts";

const input = { n: 3 };
const secret = "a secret for tests, of no worth";

function outputOf(outcome: Outcome<unknown>): unknown {
  return outcome.status === "completed" ? outcome.output : outcome;
}

/** One settlement a key, one write id a batch, nothing after the end. */
function checkJournal({ batches }: CrashCase): void {
  const parsed = batches.map(
    (text) => JSON.parse(text) as { by: string; entries: { kind: string; key?: string }[] },
  );
  const entries = parsed.flatMap((batch) => batch.entries);
  const settled = entries.filter(({ kind }) =>
    /^step\.|^sleep\.fired|^suspend\.(resolved|expired)/.test(kind),
  );
  expect(new Set(settled.map(({ key }) => key)).size).toBe(settled.length);
  expect(new Set(parsed.map(({ by }) => by)).size).toBe(parsed.length);
  const ends = entries.map(({ kind }) => /^run\.(completed|failed|cancelled)$/.test(kind));
  expect(ends.indexOf(true)).toBe(entries.length - 1);
}

describe.each(["sequence", "branches"] as const)("H10 crash at every append: %s", (name) => {
  test.each([undefined, 1, 2])("same output as the calm run, storage slowed by seed %s", async (slowSeed) => {
    const { effects, ...flows } = everyOperation();
    const flow: Workflow<{ n: number }, unknown> = flows[name];
    const seen: { fault: string; counts: number[] }[] = [];
    const cases = await crashAtEveryAppend(flow, {
      input,
      answers,
      ...(slowSeed === undefined ? {} : { slowSeed }),
      onLife: ({ fault, append, life }) => {
        if (life > 1) return;
        const byKey = Map.groupBy(effects.splice(0), ({ key, idempotencyKey }) => `${key} ${idempotencyKey}`);
        seen.push({
          fault: `before ${fault} at ${append}`,
          counts: [...byKey.values()].map((list) => list.length),
        });
      },
    });
    const [calm] = cases;
    expect(calm?.outcome.status).toBe("completed");
    expect(cases.length).toBeGreaterThan(100);
    // A crash repeats a piece of work at most once, always under the same idempotency key; `flaky` has three attempts.
    for (const { fault, counts } of seen) expect(Math.max(0, ...counts), fault).toBeLessThanOrEqual(4);
    for (const one of cases) {
      const told = `${one.fault} at append ${one.append}`;
      expect(outputOf(one.outcome), told).toEqual(outputOf(calm!.outcome));
      checkJournal(one);
      // H2: a fresh process that finds all but the end comes to the same end without any work.
      effects.length = 0;
      const cold = flow.with({ storage: await withoutEnd(one), world: one.world, secret });
      const again = await one.world.run(cold.run(input, { id: "crash" }));
      expect(outputOf(again), told).toEqual(outputOf(calm!.outcome));
      expect(effects).toEqual([]);
    }
  });
});
