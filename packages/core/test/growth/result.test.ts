import { durable } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { pause } from "../support/behaviour-lab.ts";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

interface Waited {
  readonly waiter: Work;
  /** Characters that the driver appended. */
  readonly written: number;
}

/** One process drives a run of `steps` steps, and another one waits for its result. */
async function waited(steps: number): Promise<Waited> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const lab = countedLab(decoded);
  const flow = durable("busy", async (ctx) => {
    for (let i = 0; i < steps; i++) await ctx.step("work", () => pause(lab.world, 20));
    return steps;
  });
  const driver = lab.process({ workflows: [flow] });
  const waiter = lab.process({ workflows: [flow] });
  let waiting: Promise<Work> | undefined;
  const { written } = await driver.workOf(async () => {
    const run = await driver.app.start("busy", undefined, { id: "r" });
    waiting = waiter.workOf(async () => {
      expect(await waiter.app.get("r").result({ wait: true })).toBe(steps);
    });
    await Promise.all([run.result(), waiting]);
  });
  return { waiter: (await waiting)!, written };
}

const steps = inject("full") ? 1_000 : 100;

test(`a process that waits for the result of ${steps} and of ${steps * 2} steps reads what is new, not the whole run each time`, async () => {
  const once = await waited(steps);
  const twice = await waited(steps * 2);
  for (const { waiter, written } of [once, twice]) {
    expect(waiter.fetched / written).toBeLessThan(3);
    expect(waiter.decoded / written).toBeLessThan(3);
    expect(waiter.appends).toBe(0);
  }
  expect(twice.waiter.fetched / once.waiter.fetched).toBeLessThan(2.2);
});
