import { crashEverywhere, type Fault } from "@durable/testing";
import type { Workflow } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { answers, everyOperation } from "../../core/test/support/every-operation.ts";
import { openSchema } from "./support/open.ts";

// The server is that of inject("postgres").
const full = inject("full");
const faults: readonly Fault[] = full ? ["lose-reply"] : ["crash-after"];
const flows = full ? (["sequence", "branches", "works", "family"] as const) : (["branches"] as const);

// H10 and H2: same output, one settlement a key, nothing after the end, cold replay without any work.
describe.each(flows)("H10 crash everywhere, on Postgres: %s", (name) => {
  test("same output as the calm run", { timeout: 600_000 }, async () => {
    const { effects: _, ...all } = everyOperation();
    const flow: Workflow<{ n: number }, unknown> = all[name];
    const { cases, calm } = await crashEverywhere(flow, {
      input: { n: 3 },
      resume: answers,
      faults,
      storage: ({ now }) => {
        const place = openSchema();
        return { storage: place.open({ now, listen: false }), close: () => place.close() };
      },
    });
    expect(calm.outcome.status).toBe("completed");
    expect(cases.length).toBeGreaterThan(16 * faults.length);
    // With a real database, calls that are made at the same time end in any order, so a few points move.
    expect(cases.filter(({ hit }) => hit).length).toBeGreaterThan(0.9 * cases.length);
  });
});
