import { durable, type Outcome } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { tokenOf } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

/** Entries of one turn: the steps, the wait, its park and its answer. */
const steps = 247;
const perTurn = steps + 3;

test("an answer to a parked run in memory costs the same at 2,000 entries and at many more", async () => {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const most = (inject("full") ? 64_000 : 16_000) / perTurn;
  const flow = durable("long", async (ctx) => {
    for (;;) {
      const answer = await ctx.suspend<number>("ask");
      await Promise.all(Array.from({ length: steps }, () => ctx.step("work", () => answer)));
    }
  });
  const process = countedLab(decoded).process({ workflows: [flow], warm: 1 });
  const { app } = process;
  await process.run(() => app.start("long", undefined, { id: "r" }));
  let outcome: Outcome<unknown> = await process.run(() => app.get("r").outcome());
  const works: Work[] = [];
  for (let turn = 1; turn <= most; turn++) {
    const work = await process.workOf(async () => {
      outcome = (await app.resume(tokenOf(outcome), 1)).outcome!;
    });
    works.push(work);
  }
  const entries = await process.run(() => app.get("r").entries());
  expect(entries.length).toBeGreaterThan((most - 1) * perTurn);
  const { written, ...same } = works[2_000 / perTurn]!;
  expect(same).toMatchObject({ reads: 1, batches: 0, fetched: 0 });
  expect(same.decoded).toBeLessThan(100);
  for (const [turn, work] of works.entries()) {
    if (turn * perTurn < 2_000) continue;
    expect(work, `after ${turn * perTurn} entries`).toMatchObject(same);
    // Longer numbers in keys are all that grows.
    expect(work.written / written, `after ${turn * perTurn} entries`).toBeLessThan(1.1);
  }
});
