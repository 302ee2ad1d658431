import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApp, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { SqliteStorage } from "@durable/core/sqlite";
import { createBrief } from "./fixtures/workflows.ts";
import { startServer } from "../../s3/test/server.ts";
import { Project, workflowsFile } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

const copyOf = (name: string): string => join(project.folder, name);

/** All batches of all runs. */
async function contentOf(storage: Storage): Promise<Map<string, readonly string[]>> {
  const { runs } = await storage.list();
  const found = await Promise.all(
    runs.map(async ({ locator, runId }) => [runId, (await storage.read(locator)).batches] as const),
  );
  return new Map(found);
}

describe("export and import", () => {
  test("JSON round-trips: the same journals, and the same text again", async () => {
    const wrote = await project.cli(["export", "tides-2", "moon-1", "-o", "out.json"]);
    expect(wrote).toMatchObject({ code: 0, out: "", err: "Wrote 2 runs to out.json.\n" });
    expect(statSync(copyOf("out.json")).mode & 0o077).toBe(0);
    const text = readFileSync(copyOf("out.json"), "utf8");
    const said = await project.cli(["import", "out.json", "-s", "other/journal.db"]);
    expect(said).toMatchObject({ code: 0 });
    // The fork reads its parent, so that comes along.
    expect(said.out).toContain("Copied 3 runs to other/journal.db");
    const again = await project.cli(["export", "tides-2", "moon-1", "-s", "other/journal.db"]);
    expect(again.out).toBe(text);
    const [before, after] = [
      new SqliteStorage(copyOf(".durable/journal.db")),
      new SqliteStorage(copyOf("other/journal.db")),
    ];
    const [from, to] = [await contentOf(before), await contentOf(after)];
    expect([...to.keys()].toSorted()).toEqual(["moon-1", "tides-1", "tides-2"]);
    for (const [runId, batches] of to) expect(batches).toEqual(from.get(runId));
    await Promise.all([before.close(), after.close()]);
    const twice = await project.json(["import", "out.json", "-s", "other/journal.db"]);
    expect(twice).toMatchObject({ runs: 0, batches: 0, skipped: 3, refused: [] });
    const shown = await project.json(["show", "tides-2", "-s", "other/journal.db"]);
    expect(shown).toEqual(await project.json(["show", "tides-2"]));
  });

  test("needs no key for encrypted runs, and they stay encrypted", async () => {
    const encryption = aesGcm({ current: "k1", keys: { k1: "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY" } });
    const storage = new SqliteStorage(copyOf("sealed.db"));
    const brief = createBrief(async () => {}, 0);
    await brief.with({ storage, encryption }).run("a private topic", { id: "sealed" });
    await storage.close();
    expect((await project.cli(["export", "sealed", "-s", "sealed.db", "-o", "sealed.json"])).code).toBe(0);
    expect(readFileSync(copyOf("sealed.json"), "utf8")).not.toContain("private");
    expect((await project.cli(["import", "sealed.json", "-s", "copied.db"])).code).toBe(0);
    const copied = new SqliteStorage(copyOf("copied.db"));
    const run = createApp({ storage: copied, encryption, workflows: [] }).get("sealed");
    expect((await run.entries())[0]).toMatchObject({ kind: "run.started", input: "a private topic" });
    await copied.close();
    expect((await project.cli(["show", "sealed", "-s", "copied.db"])).err).toContain("no-key");
  });

  test("Markdown is the screen in a block; HTML says what is missing", async () => {
    const { out } = await project.cli(["export", "moon-1", "--format", "md"]);
    expect(out).toMatch(/^```text\nresearch-brief {2}moon-1/);
    expect(out).toMatch(/```\n$/);
    const html = await project.cli(["export", "moon-1", "-o", "run.html"]);
    const dashboard = existsSync(new URL("../../dashboard/package.json", import.meta.url));
    expect(html.code).toBe(dashboard ? 0 : 2);
    expect(html.err).toContain(dashboard ? "Wrote 1 run to run.html." : "npm i -D @durable/dashboard");
  });

  test("refuses what is not an export, and an import over another run of the same id", async () => {
    writeFileSync(copyOf("bad.json"), "{}");
    expect((await project.cli(["import", "bad.json"])).err).toContain("was not written by durable export");
    expect((await project.cli(["import", "missing.json"])).code).toBe(2);
    expect((await project.cli(["export"])).code).toBe(2);
    const other = new SqliteStorage(copyOf("clash.db"));
    await createBrief(async () => {}, 0)
      .with({ storage: other })
      .run("another", { id: "moon-1" });
    await other.close();
    await project.cli(["export", "moon-1", "-o", "moon.json"]);
    const said = await project.json(["import", "moon.json", "-s", "clash.db"]);
    expect(said).toMatchObject({ runs: 0, refused: [{ runId: "moon-1", code: "conflict" }] });
  });
});

describe("copy", () => {
  test("to a folder, and the runs go on there", async () => {
    const said = await project.json([
      "copy",
      ".durable/journal.db",
      "folder:bucket",
      "--workflow",
      "research-brief",
    ]);
    expect(said).toMatchObject({ runs: 4, refused: [], to: "bucket" });
    const { runs } = (await project.json(["ls", "-s", "bucket"])) as { runs: { runId: string }[] };
    expect(runs.map(({ runId }) => runId)).toEqual(["moon-1", "sun-1", "tides-2", "tides-1"]);
    const secret = readFileSync(copyOf(".durable/secret"), "utf8").trim();
    const resumed = await project.cli(
      ["resume", "moon-1", "--set", "approved=true", "-s", "bucket", "--app", workflowsFile],
      { env: { DURABLE_SECRET: secret } },
    );
    expect(resumed.code).toBe(0);
    expect((await project.cli(["copy", "bucket", "./bucket"])).err).toContain("Both storages are the same");
  });

  test("to S3, by URL and environment", async () => {
    const server = await startServer();
    const env = {
      AWS_ACCESS_KEY_ID: "an access key",
      AWS_SECRET_ACCESS_KEY: "a/secret+key=",
      AWS_ENDPOINT_URL_S3: server.endpoint,
      AWS_REGION: "auto",
    };
    try {
      const said = await project.json(["copy", ".durable", "s3://journal/cli"], { env });
      expect(said).toMatchObject({ runs: 5, refused: [] });
      const shown = await project.json(["show", "tides-1", "-s", "s3://journal/cli"], { env });
      expect(shown).toEqual(await project.json(["show", "tides-1"]));
      expect((await project.cli(["ls", "-s", "s3://journal/cli"])).err).toContain("AWS_ACCESS_KEY_ID");
    } finally {
      await server.stop();
    }
  });
});
