/** `--no-app`: commands that only read run no code of the folder, and others say that they do. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
const ran = (): boolean => existsSync(join(project.folder, "ran"));
beforeEach(async () => {
  project = await Project.withRuns();
  const text = `import { writeFileSync } from "node:fs";
    writeFileSync(${JSON.stringify(join(project.folder, "ran"))}, "");
    export const workflows = [];`;
  writeFileSync(join(project.folder, "durable.config.mjs"), text);
});
afterEach(() => project.remove());

test.each([
  ["ls"],
  ["show", "sun-1"],
  ["tree", "tides-1"],
  ["diff", "tides-1", "tides-2"],
  ["export", "sun-1"],
  ["doctor"],
  ["workers"],
  ["limits"],
])("durable %s --no-app runs nothing of the folder", async (...args) => {
  const { out } = await project.cli([...args, "--no-app"]);
  expect(out).not.toBe("");
  expect(ran()).toBe(false);
});

test("a command that needs code refuses --no-app, and so does --app beside it", async () => {
  const replay = await project.cli(["replay", "sun-1", "--no-app"]);
  expect([replay.code, ran()]).toEqual([2, false]);
  expect(replay.err).toContain("Leave out --no-app");
  const both = await project.cli(["ls", "--no-app", "--app", "durable.config.mjs"]);
  expect([both.code, ran()]).toEqual([2, false]);
  expect(both.err).toContain("exclude each other");
});

test("a terminal is told when code of the folder is run", async () => {
  const { err } = await project.cli(["ls"], { types: [] });
  expect(ran()).toBe(true);
  expect(err).toContain("Running durable.config.mjs of this folder; --no-app reads without it.");
  expect((await project.cli(["ls"])).err).not.toContain("Running");
});
