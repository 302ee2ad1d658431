import { afterAll, expect, inject, test } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";

let project: Project | undefined;
afterAll(() => project?.remove());

test("copy, ls, show and resume on Postgres, by URL", async () => {
  project = await Project.withRuns();
  const url = new URL(inject("postgres"));
  url.searchParams.set("schema", `cli_${process.pid}`);
  expect(await project.json(["copy", ".durable/journal.db", url.href])).toMatchObject({
    runs: 5,
    refused: [],
  });
  const store = ["-s", url.href];
  expect(await project.json(["show", "tides-2", ...store])).toEqual(await project.json(["show", "tides-2"]));
  const listed = await project.json(["ls", ...store]);
  expect(listed["runs"]).toHaveLength(5);
  expect(String(listed["store"])).not.toContain(url.password || "no password");
  // Postgres keeps no secret.
  const without = await project.cli(["resume", "moon-1", "--set", "approved=true", ...store]);
  expect(without).toMatchObject({ code: 2 });
  expect(without.err).toContain("no-secret");
  const checked = (await project.cli(["doctor", ...store])).out;
  expect(checked).toContain("set DURABLE_SECRET");
  expect(checked).toMatch(/postgres.* can be read/);
  expect(checked).not.toContain("journal.db");
  const secret = readFileSync(join(project.folder, ".durable", "secret"), "utf8").trim();
  const resumed = await project.cli(
    ["resume", "moon-1", "--set", "approved=true", ...store, "--app", workflowsFile],
    {
      env: { DURABLE_SECRET: secret },
    },
  );
  expect(resumed).toMatchObject({ code: 0 });
});

test("migrate says what it would do, makes the tables, and lets a role use them", async () => {
  project ??= await Project.withRuns();
  const url = new URL(inject("postgres"));
  url.searchParams.set("schema", `cli_migrate_${process.pid}`);
  const dry = await project.json(["migrate", url.href, "--dry-run"]);
  expect(dry).toMatchObject({ dryRun: true, from: 0 });
  expect(String(dry["statements"])).toContain("CREATE TABLE");
  expect((await project.cli(["ls", "-s", url.href])).code, "nothing was made").not.toBe(0);
  expect(await project.json(["migrate", url.href])).toMatchObject({ dryRun: false, from: 0, to: dry["to"] });
  expect((await project.json(["ls", "-s", url.href]))["runs"]).toEqual([]);
  expect((await project.cli(["migrate", url.href])).out).toContain(`has version ${String(dry["to"])}`);
  const refused = await project.cli(["migrate", "journal.db"]);
  expect(refused.err).toContain("Only Postgres has migrations");
});
