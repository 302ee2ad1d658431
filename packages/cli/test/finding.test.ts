import { join } from "node:path";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const order = durable("order", async () => 1, { storage, version: "7", tags: { team: "red" } });
  await order.run(undefined, { id: "order-1", tags: { customer: "42" } });
  await order.with({ version: "8" }).run(undefined, { id: "order-2", tags: { customer: "43" } });
  await storage.close();
});
afterAll(() => project.remove());

const idsOf = async (args: readonly string[]): Promise<string[]> => {
  const { out, code } = await project.cli(["ls", ...args, "--json"]);
  expect(code, out).toBe(0);
  return (JSON.parse(out) as { runs: { runId: string }[] }).runs.map(({ runId }) => runId);
};

test.each([
  [["--tag", "customer=42"], ["order-1"]],
  [
    ["--tag", "team=red"],
    ["order-2", "order-1"],
  ],
  [["--tag", "team=red", "--tag", "customer=43"], ["order-2"]],
  [["--version", "7"], ["order-1"]],
  [
    ["--q", "order-"],
    ["order-2", "order-1"],
  ],
  [["--q", "prompt"], ["tides-2"]],
  [["--where", "q:43 version:8"], ["order-2"]],
  [["--tag", "customer=nobody"], []],
])("ls %o", async (args, expected) => {
  expect(await idsOf(args)).toEqual(expected);
});

test("ls shows tags, and refuses what is no tag", async () => {
  expect((await project.cli(["ls", "--tag", "customer=42"])).out).toContain("team=red customer=42");
  expect((await project.cli(["show", "order-1"])).out).toContain("tags    team=red customer=42");
  expect(await project.json(["show", "order-1"])).toMatchObject({ run: { tags: { team: "red" } } });
  const { code, err } = await project.cli(["ls", "--tag", "customer"]);
  expect([code, err]).toEqual([2, expect.stringContaining("tag:name=value")]);
});
