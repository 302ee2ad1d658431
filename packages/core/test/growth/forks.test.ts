import { durable, type Run } from "@durable/core";
import { afterEach, beforeAll, expect, inject, test, vi } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

/** A chain of forks: each is a fork of the one before, and adds a step. Returns the work of each of them. */
async function chain(length: number, warm = 0): Promise<{ works: Work[]; deletion: Work }> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  let last = 0;
  const flow = durable("chain", async (ctx) => {
    let sum = 0;
    for (let i = 0; i <= last; i++) sum += await ctx.step(`step-${i}`, () => i);
    await ctx.suspend("ask");
    return sum;
  });
  const { app, run, workOf } = countedLab(decoded).process({ workflows: [flow], warm });
  let newest: Run = await run(() => app.start("chain", undefined, { id: "fork-0" }));
  const works: Work[] = [];
  for (last = 1; last <= length; last++) {
    const work = await workOf(async () => {
      newest = await newest.fork({ from: "ask", id: `fork-${last}` });
      expect(await failureOf(newest.result())).toMatchObject({ code: "suspended" });
    });
    works.push(work);
  }
  const entries = await run(() => newest.entries());
  expect(entries.filter(({ kind }) => kind === "step.completed")).toHaveLength(length + 1);
  const deletion = await workOf(async () => {
    for (let i = 0; i <= length; i++) await app.delete(`fork-${i}`);
  });
  return { works, deletion };
}

const length = inject("full") ? 100 : 30;
let works: Work[];
let deletion: Work;
beforeAll(async () => {
  ({ works, deletion } = await chain(length * 2));
});

const most = (field: "written" | "fetched" | "decoded", from: number, to: number): number =>
  Math.max(...works.slice(from, to).map((work) => work[field]));

test(`a fork in a chain of ${length * 2} writes no more than one in a chain of ${length}`, () => {
  expect(most("written", length, length * 2) / most("written", 0, length)).toBeLessThan(1.2);
});

test(`a fork in a chain of ${length * 2} reads at most twice as much as one in a chain of ${length}`, () => {
  expect(most("fetched", length, length * 2) / most("fetched", 0, length)).toBeLessThan(2.2);
  expect(most("decoded", length, length * 2) / most("decoded", 0, length)).toBeLessThan(2.2);
});

test(`deleting a chain of ${length * 2} forks reads none of their batches`, () => {
  expect(deletion.batches).toBe(0);
  expect(deletion.reads).toBe(length * 2 + 1);
});

test(`a process that keeps what it has read reads as much for fork ${length} as for fork ${length * 2}`, async () => {
  const kept = (await chain(length * 2, 100)).works;
  const [early, late] = [kept.slice(4, 8), kept.slice(-4)];
  for (const what of ["reads", "batches"] as const)
    expect(Math.max(...late.map((work) => work[what])), what).toBeLessThanOrEqual(
      Math.max(...early.map((work) => work[what])),
    );
});
