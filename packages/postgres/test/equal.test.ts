import { inject, describe, expect, it } from "vitest";
import {
  compareJournals,
  firstDifference,
  onBoth,
  type Play,
} from "../../core/test/adapters/sqlite/support/journals.ts";
import { randomOps, type Op } from "../../core/test/adapters/sqlite/support/ops.ts";
import { findDifference } from "../../core/test/adapters/sqlite/support/traces.ts";
import { answers, everyOperation } from "../../core/test/support/every-operation.ts";
import { openHeld } from "./support/held.ts";

// The server is that of inject("postgres").
const [traces, worlds] = inject("full") ? [70, 3] : [3, 1];
const open = (now: () => number) => Promise.resolve(openHeld(now));

describe("PostgresStorage answers like MemoryStorage", () => {
  it("reply by reply, to random lists of 60 operations (H17, H18)", async () => {
    for (let seed = 1; seed <= traces; seed++) {
      // One after the other: those that are under way together may be done in any order.
      const ops = randomOps(seed, 60).flatMap((op): readonly Op[] =>
        op.op === "together" ? op.writes : [op],
      );
      expect(await findDifference(ops, (now) => openHeld(now).storage), `seed ${seed}`).toBeNull();
    }
  });

  it("batch by batch, to worlds of workflows, answers and forks (H18)", async () => {
    const { worlds: compared, calls } = await compareJournals({ worlds, seed: 1, open });
    expect(compared).toBe(worlds);
    expect(calls).toBeGreaterThan(83 * worlds);
  });

  it("batch by batch, to a workflow with every operation (H18)", async () => {
    const { sequence } = everyOperation();
    const play: Play = async (host) => {
      const bound = sequence.with(host);
      for (;;) {
        const outcome = await bound.run({ n: 3 }, { id: "every" });
        if (outcome.status !== "suspended") return outcome;
        const point = outcome.waiting.find(({ name }) => name in answers);
        if (point !== undefined) await bound.resume(point.token, answers[point.name as keyof typeof answers]);
        else await new Promise<void>((resolve) => void host.world.timer(3_600_000, resolve));
      }
    };
    const both = await onBoth(5, play, open);
    expect(firstDifference(both)).toBeNull();
    expect(both.sqlite.output).toContain('"status":"completed"');
  });
});
