import { durable, type Outcome } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { tokenOf } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type CountedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

function made(): CountedLab {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  return countedLab(decoded);
}

/** A conversation: each turn asks, then does `steps` steps at once. */
function conversation(turns: number, steps: number) {
  return durable("conversation", async (ctx) => {
    for (let turn = 0; turn < turns; turn++) {
      const answer = await ctx.suspend<number>("ask");
      await Promise.all(Array.from({ length: steps }, () => ctx.step("work", () => answer)));
    }
  });
}

/** The work of the answer to the last turn but one, by a process that has not seen the run. */
async function coldAnswer(turns: number): Promise<Work> {
  const lab = made();
  const workflows = [conversation(turns, 1)];
  const first = lab.process({ workflows, warm: 1 });
  const run = await first.run(() => first.app.start("conversation", undefined, { id: "r" }));
  let outcome: Outcome<unknown> = await first.run(() => run.outcome());
  for (let turn = 1; turn < turns - 1; turn++)
    outcome = (await first.run(() => first.app.resume(tokenOf(outcome), turn))).outcome!;
  const cold = lab.process({ workflows });
  return cold.workOf(() => cold.app.resume(tokenOf(outcome), 1));
}

const turns = inject("full") ? 1_000 : 100;

test(`a cold answer after ${turns} and ${turns * 2} turns: one read, and work that grows at most with the run`, async () => {
  const once = await coldAnswer(turns);
  const twice = await coldAnswer(turns * 2);
  for (const work of [once, twice]) {
    expect(work).toMatchObject({ reads: 1, appends: 3, leases: 1, lists: 0 });
    expect(work.written).toBeLessThan(600);
    expect(work.decoded, "each batch is decoded once").toBeLessThan(work.fetched * 1.05);
  }
  expect(twice.alarms).toBe(once.alarms);
  expect(twice.fetched / once.fetched).toBeLessThan(2.2);
  expect(twice.decoded / once.decoded).toBeLessThan(2.2);
  expect(twice.rounds / once.rounds).toBeLessThan(2.2);
});
