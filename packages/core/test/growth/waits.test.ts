import { durable, type Outcome } from "@durable/core";
import { seeded } from "@durable/testing";
import { afterEach, expect, inject, test, vi } from "vitest";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

interface Waits {
  readonly opened: Work;
  readonly answered: Work;
}

/** A run that opens `count` waits at once, each with its own deadline; then one of them is answered. */
async function waits(count: number, kind: "suspends" | "sleeps"): Promise<Waits> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const random = seeded(5);
  const timeouts = Array.from({ length: count }, () => 86_400_000 + random.between(0, 1_000_000));
  const flow = durable("waits", async (ctx) => {
    await ctx.parallel([
      (c) => c.suspend("ask"),
      ...timeouts.map(
        (timeout) => (c: typeof ctx) =>
          kind === "sleeps" ? c.sleep(timeout) : c.suspend("ask", { timeout }),
      ),
    ]);
  });
  const process = countedLab(decoded).process({ workflows: [flow], warm: 1 });
  const { app } = process;
  const opened = await process.workOf(() => app.start("waits", undefined, { id: "r" }));
  const outcome: Outcome<unknown> = await process.run(() => app.get("r").outcome());
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  const { token } = outcome.waiting[0]!;
  const answered = await process.workOf(() => app.resume(token, 1));
  return { opened, answered };
}

const count = inject("full") ? 4_000 : 400;

test.each(["suspends", "sleeps"] as const)(
  `${count} and ${count * 2} open %s: opening them sets few alarms, and an answer costs the same`,
  async (kind) => {
    const once = await waits(count, kind);
    const twice = await waits(count * 2, kind);
    // Only a wait that is due before all others sets the alarm again: about log(n) times in a random order.
    expect(twice.opened.alarms).toBeLessThan(40);
    expect(twice.opened.rounds - once.opened.rounds, "rounds belong to appends, not to waits").toBeLessThan(
      20,
    );
    expect(twice.answered).toEqual({ ...once.answered, written: expect.any(Number) as number });
    expect(twice.answered.written - once.answered.written).toBeLessThan(10);
    expect(twice.answered).toMatchObject({ reads: 1, fetched: 0, leases: 1 });
  },
);
