import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
});
afterAll(() => project.remove());

const withPrices = ["--prices", "prices.json"];
const withCode = ["--app", workflowsFile];

/** Screens that do not change anything: what people see, and what machines get. */
const screens: readonly (readonly [string, readonly string[], number])[] = [
  ["ls", ["ls"], 0],
  ["ls-failed", ["ls", "--where", "status:failed workflow:research-brief"], 0],
  ["ls-none", ["ls", "--workflow", "unknown"], 0],
  ["show-completed", ["show", "tides-1", ...withPrices], 0],
  ["show-fork", ["show", "tides-2", ...withPrices], 0],
  ["show-suspended", ["show", "moon-1"], 0],
  ["show-failed", ["show", "@failed"], 0],
  ["show-blocked", ["show", "old-1"], 0],
  ["show-step", ["show", "tides-1", "--step", "search[news]/fetch"], 0],
  ["show-journal", ["show", "old-1", "--journal"], 0],
  ["show-ascii", ["show", "tides-2", "--ascii"], 0],
  ["show-to-scale", ["show", "tides-2", "--no-fold"], 0],
  ["tree", ["tree", "tides-2", ...withPrices], 0],
  ["diff", ["diff", "tides-2", ...withPrices], 1],
  ["diff-same", ["diff", "tides-1", "tides-1"], 0],
  ["fork-plan", ["fork", "tides-1", "--from", "draft#2", "--dry-run", ...withCode, ...withPrices], 0],
  ["fork-plan-failure", ["fork", "sun-1", "--from-failure", "--dry-run", ...withCode], 0],
  ["replay", ["replay", "tides-1", "moon-1", ...withCode], 0],
  ["replay-diverged", ["replay", "old-1", ...withCode], 4],
  ["rm-plan", ["rm", "--status", "failed", "--dry-run"], 0],
  ["cancel-plan", ["cancel", "--workflow", "research-brief", "--dry-run"], 0],
  ["explain", ["explain", "cancelled"], 0],
  ["not-found", ["show", "nothing"], 3],
  ["usage", ["show"], 2],
  ["unknown-option", ["ls", "--colour"], 2],
  ["unknown-command", ["sho"], 2],
];

describe("screens", () => {
  test.each(screens)("%s", async (name, args, code) => {
    const human = await project.cli(args);
    const text = human.err === "" ? human.out : `${human.out}--- stderr\n${human.err}`;
    await expect(text).toMatchFileSnapshot(`screens/${name}.txt`);
    expect(human.code, text).toBe(code);
    const machine = await project.cli([...args, "--json"]);
    expect(machine.code).toBe(code);
    expect(machine.err).toBe("");
    expect(JSON.parse(machine.out)).toMatchObject({ v: 1 });
    await expect(withoutStacks(machine.out)).toMatchFileSnapshot(`screens/${name}.json.txt`);
  });

  test("help and completion", async () => {
    await expect((await project.cli(["help"])).out).toMatchFileSnapshot("screens/help.txt");
    await expect((await project.cli(["fork", "--help"])).out).toMatchFileSnapshot("screens/help-fork.txt");
    expect((await project.cli(["--version"])).out).toMatch(/^\d+\.\d+\.\d+/);
  });
});

/** Paths and lines of stacks change with every edit. */
function withoutStacks(text: string): string {
  return text.replaceAll(/^\s*"stack": .*\n/gm, "").replaceAll(/^\s*"(retryAt|wait)": .*\n/gm, "");
}
