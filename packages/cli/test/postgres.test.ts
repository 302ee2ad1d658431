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
  expect((await project.cli(["doctor", ...store])).out).toContain("set DURABLE_SECRET");
  const secret = readFileSync(join(project.folder, ".durable", "secret"), "utf8").trim();
  const resumed = await project.cli(
    ["resume", "moon-1", "--set", "approved=true", ...store, "--app", workflowsFile],
    {
      env: { DURABLE_SECRET: secret },
    },
  );
  expect(resumed).toMatchObject({ code: 0 });
});
