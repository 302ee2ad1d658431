import { durable, type Outcome } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { tokenOf } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

interface State {
  readonly turn: number;
  readonly sum: number;
}

/** A conversation without an end, which begins a new chapter after every `perChapter` turns. */
function endless(perChapter: number) {
  return durable("endless", async (ctx, { turn, sum }: State): Promise<never> => {
    let total = sum;
    for (let i = 0; i < perChapter; i++) {
      const answer = await ctx.suspend<number>("ask");
      total += await ctx.step("work", () => answer);
    }
    return ctx.continueAs({ turn: turn + perChapter, sum: total });
  });
}

/** The work of each of the turns in `measured`, each done by a process that has not seen the run. */
async function coldTurns(turns: number, perChapter: number, measured: readonly number[]): Promise<Work[]> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const lab = countedLab(decoded);
  const workflows = [endless(perChapter)];
  let process = lab.process({ workflows, warm: 1 });
  const run = await process.run(() => process.app.start("endless", { turn: 0, sum: 0 }, { id: "r" }));
  let outcome: Outcome<unknown> = await process.run(() => run.outcome());
  const works: Work[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const answer = async (): Promise<void> => {
      outcome = (await process.app.resume(tokenOf(outcome), 1)).outcome!;
    };
    if (measured.includes(turn)) {
      process = lab.process({ workflows });
      works.push(await process.workOf(answer));
      process = lab.process({ workflows, warm: 1 });
    } else {
      await process.run(answer);
    }
  }
  const [first] = await process.run(() => process.app.get("r").entries());
  expect(first).toMatchObject({ kind: "run.continued", input: { turn: turns, sum: turns } });
  return works;
}

const turns = inject("full") ? 10_000 : 1_000;

test(`${turns} turns, and a new chapter after every 100: the last turns cost what those before turn 200 cost`, async () => {
  const [middle, end, lastMiddle, last] = (await coldTurns(turns, 100, [150, 200, turns - 50, turns])) as [
    Work,
    Work,
    Work,
    Work,
  ];
  for (const [early, late] of [
    [middle, lastMiddle],
    [end, last],
  ] as const) {
    expect(late.reads).toBe(early.reads);
    expect(late.appends).toBe(early.appends);
    expect(late.leases).toBe(early.leases);
    for (const what of ["fetched", "decoded", "batches", "written", "rounds"] as const)
      expect(late[what] / early[what], what).toBeLessThanOrEqual(1.5);
  }
  // The whole run was read by nobody: a turn reads its chapter at most.
  expect(last.batches).toBeLessThan(100 * 5);
  expect(lastMiddle.batches).toBeLessThan(last.batches);
});

test("an early chapter, the middle one and the last are each read without the others", async () => {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const lab = countedLab(decoded);
  const count = inject("full") ? 2_000 : 200;
  const flow = durable("pages", async (ctx, page: number): Promise<number> => {
    const work = await ctx.step("work", () => page);
    return page < count ? ctx.continueAs(page + 1) : work;
  });
  const { app, run, workOf } = lab.process({ workflows: [flow] });
  await run(() => app.start("pages", 1, { id: "r", drive: false }));
  await run(() => app.advance("r"));
  for (const chapter of [1, 2, count / 2, count - 1, count]) {
    const work = await workOf(async () => {
      const entries = await app.get("r").entries({ chapter });
      expect(entries.map(({ kind }) => kind).slice(0, 2)).toEqual([
        chapter === 1 ? "run.started" : "run.continued",
        "step.completed",
      ]);
      expect(entries[0]).toMatchObject({ input: chapter });
      expect(entries[1]).toMatchObject({ value: chapter });
    });
    expect(work.batches, `chapter ${chapter}`).toBeLessThanOrEqual(6);
  }
  await run(async () => {
    await expect(app.get("r").entries({ chapter: count + 1 })).rejects.toMatchObject({ code: "not-found" });
  });
});
