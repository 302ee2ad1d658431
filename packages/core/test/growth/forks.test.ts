import { durable, type Run } from "@durable/core";
import { afterEach, beforeAll, expect, inject, test, vi } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

/** A chain of forks: each is a fork of the one before, and adds a step. Returns the work of each of them. */
async function chain(length: number): Promise<Work[]> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  let last = 0;
  const flow = durable("chain", async (ctx) => {
    let sum = 0;
    for (let i = 0; i <= last; i++) sum += await ctx.step(`step-${i}`, () => i);
    await ctx.suspend("ask");
    return sum;
  });
  const { app, run, workOf } = countedLab(decoded).process({ workflows: [flow] });
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
  return works;
}

const length = inject("full") ? 100 : 30;
let works: Work[];
beforeAll(async () => {
  works = await chain(length * 2);
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
