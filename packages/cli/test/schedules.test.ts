import { join } from "node:path";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld } from "@durable/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBrief } from "./fixtures/workflows.ts";
import { noon, Project, workflowsFile } from "./support/lab.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
  const world = virtualWorld({ start: noon });
  const storage = new SqliteStorage({
    path: join(project.folder, ".durable", "journal.db"),
    now: () => noon,
  });
  const brief = createBrief(() => Promise.resolve());
  const app = createApp({ storage, world, workflows: [brief] });
  await app.schedule("weekly", brief, { cron: "0 9 * * mon", timezone: "Europe/Paris", input: "tides" });
  await app.schedule("pulse", brief, { every: "15 minutes", input: "moon" });
  await storage.close();
});
afterAll(() => project.remove());

test("lists schedules", async () => {
  const { code, out } = await project.cli(["schedules"]);
  expect(code).toBe(0);
  expect(out.trimEnd().split("\n")).toEqual([
    "SCHEDULE  WORKFLOW        WHEN                      NEXT (UTC)",
    "pulse     research-brief  every 15m                 12:15:00",
    "weekly    research-brief  0 9 * * mon Europe/Paris  2026-01-05 08:00",
  ]);
  const { schedules } = await project.json(["schedules", "ls"]);
  expect(schedules).toMatchObject([
    { name: "pulse", every: 900_000 },
    { name: "weekly", cron: "0 9 * * mon", timezone: "Europe/Paris", paused: false },
  ]);
});

test("shows the next ticks, in the time of the zone", async () => {
  const { out } = await project.cli(["schedules", "next", "weekly", "-n", "2"]);
  const line = expect.stringMatching(
    /^\d{4}-\d\d-\d\d 09:00:00 Europe\/Paris {2}\d{4}-\d\d-\d\d 0[78]:00 UTC$/,
  );
  expect(out.trimEnd().split("\n")).toEqual([line, line]);
});

test("pauses and resumes", async () => {
  expect((await project.cli(["schedules", "pause", "weekly"])).out).toBe("weekly is paused.\n");
  expect((await project.cli(["schedules"])).out).toContain("paused");
  const resumed = await project.json(["schedules", "unpause", "weekly"]);
  expect(resumed).toMatchObject({ schedule: { name: "weekly", paused: false } });
});

test("triggers a run with the code, and refuses without it", async () => {
  const { runId } = await project.json(["schedules", "trigger", "weekly", "--app", workflowsFile]);
  expect(runId).toMatch(/^weekly-/);
  expect((await project.cli(["show", String(runId)])).code).toBe(0);
  expect((await project.cli(["schedules", "trigger", "weekly"])).err).toContain("needs the code");
});

test("removes one, and says what is wrong", async () => {
  expect((await project.cli(["schedules", "rm", "pulse"])).out).toBe("Removed pulse. Its runs stay.\n");
  expect(await project.cli(["schedules", "rm", "pulse"])).toMatchObject({ code: 3 });
  expect(await project.cli(["schedules", "stop", "weekly"])).toMatchObject({ code: 2 });
  expect(await project.cli(["schedules", "pause"])).toMatchObject({ code: 2 });
});
