import { DemoProcess, killDemos, Place, runDemo } from "example-llm/process";
import { afterEach, describe, expect, inject, test } from "vitest";
import { solution } from "../src/script.ts";
import { type Calm, checkPlans, killDemo } from "./support/kills.ts";

const places: Place[] = [];
const place = (): Place => {
  const made = new Place("coding-agent");
  places.push(made);
  return made;
};

afterEach(() => {
  killDemos();
  for (const made of places.splice(0)) made.remove();
});

const timeout = 300_000;

const full = inject("full");
const kills = full ? 3 : 1;

/** Of the demo without kills, which runs first in `npm run test:full`. */
const known: Calm = {
  winner: JSON.stringify({ label: "2.clamp", passed: 13, code: solution("clamp"), rounds: 2 }),
  branches: "1.expand,1.scan,1.sort,2.clamp,2.mark,plan-1,plan-2",
  lines: 40,
};

describe("SIGKILL", () => {
  test("H10 at instants of seed 8: the same winner, and one model call per plan", { timeout }, async () => {
    const report = await killDemo({ kills, seed: 8, ...(full ? {} : { calm: known }) });
    expect(report.kills).toBe(kills);
    expect(report.plans).toBe(2 * report.runs);
    expect(report.planCalls).toBe(report.plans);
    expect(report.reused).toBeGreaterThan(0);
  });

  test("the check finds a plan that was made twice", () => {
    const made = ["began plan-1/plan k1", "ended plan-1/plan k1"];
    const life = (recorded: string[]) => ({ lines: made, recorded: new Set(recorded) });
    expect(checkPlans(made, [])).toEqual({ plans: 1, planCalls: 1, cutOff: 0 });
    expect(checkPlans([...made, ...made], [life([])])).toEqual({ plans: 1, planCalls: 1, cutOff: 1 });
    expect(() => checkPlans([...made, ...made], [life(["plan-1/plan"])])).toThrow("K4");
  });
});

test.runIf(full)("Ctrl-C, then again: one line on the way out, then the rest", { timeout }, async () => {
  const here = place();
  const demo = new DemoProcess(here);
  expect(await demo.printed("ran      1.sort/implement")).toBe(true);
  demo.signal("SIGINT");
  const first = await demo.ended;
  expect(first).toMatchObject({ code: 130, err: "" });
  expect(first.out.trimEnd().split("\n").at(-1)).toMatch(
    /^Interrupted\. .*npm run demo -w example-coding-agent$/,
  );

  const second = await runDemo(here);
  expect(second).toMatchObject({ code: 0, err: "" });
  expect(second.out).toMatch(/^ {2}journal +plan /m);
  expect(second.out).toContain("Model calls here: 1 for plans,");
  expect(second.out).toMatch(/2\.clamp +after plan +all 13 tests pass {2}<- chosen/);

  const third = await runDemo(here);
  expect(third.out).toContain("Model calls here: 0 for plans, 0 for code.");
  expect(third.out).toContain("Finished before: all 8 steps came from the journal, nothing ran.");
  // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
  expect(second.out + third.out).not.toMatch(/[\u001B\r]/);
});
