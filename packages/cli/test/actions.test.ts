import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { Project, workflowsFile } from "./support/lab.ts";

const code = ["--app", workflowsFile];

/** Commands that change something: each on a journal of its own, once for people and once for machines. */
const actions: readonly (readonly [string, readonly string[], number])[] = [
  ["resume", ["resume", "moon-1", "--set", "approved=true", ...code], 0],
  ["resume-delivered", ["resume", "moon-1", "--set", "approved=true"], 0],
  ["resume-needs-input", ["resume", "moon-1"], 10],
  ["resume-refused", ["resume", "tides-1", "--data", "true"], 4],
  ["wake", ["wake", "tides-2", ...code], 10],
  ["cancel", ["cancel", "moon-1", "--reason", "not needed"], 0],
  ["pause", ["pause", "moon-1", "--reason", "stock-taking"], 0],
  ["unpause-nothing", ["unpause", "moon-1"], 4],
  ["retry", ["retry", "sun-1"], 0],
  ["score", ["score", "sun-1", "helpful", "0.5", "--note", "too slow"], 0],
  ["score-refused", ["score", "sun-1", "helpful", "much"], 2],
  ["retry-refused", ["retry", "moon-1"], 4],
  ["retry-unknown-step", ["retry", "sun-1", "--step", "none", "--step", "other"], 3],
  ["cancel-needs-yes", ["cancel", "--status", "suspended"], 4],
  ["fork", ["fork", "tides-1", "--from", "draft#2", "--id", "tides-3", ...code], 10],
  ["rm", ["rm", "sun-1"], 0],
  ["purge", ["purge", "--keep", "0", "--status", "completed,failed,cancelled", "--yes"], 0],
  ["purge-dry-run", ["purge", "--keep", "0", "--dry-run"], 0],
  ["purge-needs-yes", ["purge", "--keep", "0"], 4],
  ["purge-needs-age", ["purge", "--workflow", "anything"], 2],
  ["export", ["export", "tides-2", "-o", "out.json"], 0],
  ["copy", ["copy", ".durable/journal.db", "other.db", "--workflow", "research-brief"], 0],
  ["doctor", ["doctor", ...code], 1],
  ["init", ["init", "app", "--no-install"], 0],
  ["completion-bash", ["completion", "bash"], 0],
  ["completion-fish", ["completion", "fish"], 0],
  ["mcp", ["mcp", "--allow", "all"], 0],
];

describe("screens of actions", () => {
  test.each(actions)("%s", async (name, args, status) => {
    for (const form of [[], ["--json"]]) {
      const project = await Project.withRuns();
      onTestFinished(() => project.remove());
      const input = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
      const said = await project.cli([...args, ...form], { input });
      const text = said.err === "" ? said.out : `${said.out}--- stderr\n${said.err}`;
      expect(said.code, text).toBe(status);
      await expect(stable(text, project)).toMatchFileSnapshot(
        `screens/${name}${form.length > 0 ? ".json" : ""}.txt`,
      );
    }
  });

  test("a workflow is paused, listed and unpaused", async () => {
    const project = await Project.withRuns();
    onTestFinished(() => project.remove());
    const workflow = ["--workflow", "research-brief", "--all"];
    const paused = await project.cli(["pause", ...workflow, "--reason", "a bug"]);
    expect([paused.code, paused.out]).toEqual([0, "Paused workflows:\n research-brief  a bug\n"]);
    const listed = JSON.parse((await project.cli(["pause", "--json"])).out) as { paused: unknown };
    expect(listed.paused).toMatchObject([{ workflow: "research-brief", reason: "a bug" }]);
    expect((await project.cli(["unpause", ...workflow])).out).toBe("No workflow is paused.\n");
    expect((await project.cli(["pause", "--all"])).code).toBe(2);
  });

  test("tail", async () => {
    const project = await Project.withRuns();
    onTestFinished(() => project.remove());
    const human = await project.cli(["tail", "sun-1", "--no-follow"]);
    expect(human.code).toBe(1);
    await expect(human.out).toMatchFileSnapshot("screens/tail.txt");
    const lines = (await project.cli(["tail", "sun-1", "--no-follow", "--json"])).out.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toHaveLength(
      human.out.trim().split("\n").length,
    );
    await expect((await project.cli(["tail", "--no-follow"])).out).toMatchFileSnapshot(
      "screens/tail-all.txt",
    );
    const all = await project.cli(["tail", "--no-follow", "--json"]);
    await expect(all.out).toMatchFileSnapshot("screens/tail-all.json.txt");
  });

  test("import", async () => {
    const project = await Project.withRuns();
    onTestFinished(() => project.remove());
    await project.cli(["export", "tides-2", "-o", "out.json"]);
    const said = await project.cli(["import", "out.json", "-s", "a.db"]);
    await expect(stable(said.out, project)).toMatchFileSnapshot("screens/import.txt");
    const machine = await project.cli(["import", "out.json", "-s", "b.db", "--json"]);
    await expect(stable(machine.out, project)).toMatchFileSnapshot("screens/import.json.txt");
  });
});

/** What differs between machines. */
function stable(text: string, { folder }: Project): string {
  return (
    text
      .replaceAll(folder, "<project>")
      .replaceAll(workflowsFile, "<workflows.ts>")
      .replaceAll(/Node \d+\.\d+\.\d+/g, "Node <version>")
      .replaceAll(/has \d+\.\d+ MB/g, "has <size> MB")
      // Recorded errors have stacks with the paths of this machine.
      .replaceAll(/[\d,]+ bytes/g, "<size> bytes")
      .replaceAll(/"bytes": \d+/g, '"bytes": <size>')
  );
}

test("of two open waits one is chosen: by --wait, or by a person", async () => {
  const project = new Project();
  onTestFinished(() => project.remove());
  const path = join(project.folder, "two.db");
  const storage = new SqliteStorage(path);
  const both = durable(
    "both",
    (ctx) => Promise.all([ctx.suspend("credit", { note: "rate?" }), ctx.suspend("house")]),
    {
      storage,
    },
  );
  await both.run(undefined, { id: "both" });
  await storage.close();
  const store = ["-s", "two.db"];
  const unsure = await project.cli(["resume", "both", "--data", "1", ...store]);
  expect(unsure).toMatchObject({ code: 2 });
  expect(unsure.err).toContain("waits at credit, house. Choose one with --wait.");
  expect((await project.cli(["resume", "both", "--wait", "garden", "--data", "1", ...store])).code).toBe(4);
  const chosen = await project.cli(["resume", "both", ...store], { types: ["9", "2", "300000"] });
  expect(chosen.err).toContain("1  credit  rate?");
  expect(chosen.out).toContain("The answer to house is recorded, and is checked when the run continues.");
  // The first answer is recorded and waits for a driver; the other wait is open meanwhile.
  const other = await project.cli(["resume", "both", "--wait", "credit", "--data", "1", ...store]);
  expect(other).toMatchObject({ code: 0 });
  const early = await project.cli(["resume", "both", "--wait", "credit", "--data", "1", ...store]);
  expect(early).toMatchObject({ code: 4 });
  expect(early.err).toContain("durable wake both");
});
