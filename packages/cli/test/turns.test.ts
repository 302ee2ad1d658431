/** Turns of agents on the command line: what people see of them, and forks that begin at one. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { agent } from "./fixtures/agent.ts";
import { Project } from "./support/lab.ts";

const code = ["--app", fileURLToPath(new URL("fixtures/agent.ts", import.meta.url))];

test("turns have numbers and words; a fork begins at one, and a turn that is not there is named", async () => {
  const project = await Project.withRuns();
  onTestFinished(() => project.remove());
  const storage = new SqliteStorage({ path: join(project.folder, ".durable", "journal.db") });
  await createApp({ storage, workflows: [agent], bind: false }).run(agent, undefined, { id: "agent-1" });
  await storage.close();
  const shown = await project.cli(["show", "agent-1", "--no-color"]);
  expect(shown.out).toContain("generate abcdefghijklmnop turn 1 tide-1: The tide is");
  const step = await project.cli(["show", "agent-1", "--step", "generate ponmlkjihgfedcba", "--no-color"]);
  expect(step.out).toContain("turn 2 tide-1: Bring \\u001b[31mboots");
  expect(shown.out + step.out).not.toContain("\u001B");
  const forked = await project.json(["fork", "agent-1", "--turn", "-1", "--id", "agent-2", ...code]);
  expect(forked).toMatchObject({ status: "completed" });
  const { calls } = forked["plan"] as { calls: { key: string; what: string }[] };
  expect(calls.map(({ what }) => what)).toEqual(["reused", "reused", "runs"]);
  const none = await project.cli(["fork", "agent-1", "--turn", "3", ...code]);
  expect([none.code, none.err]).toEqual([
    3,
    expect.stringContaining("Run agent-1 has no turn 3. It has 2 turns"),
  ]);
  const plan = { name: "plan_fork", arguments: { run: "agent-1", turn: 1 } };
  const asked = { jsonrpc: "2.0", id: 1, method: "tools/call", params: plan };
  const mcp = await project.cli(["mcp", ...code], { input: `${JSON.stringify(asked)}\n` });
  expect(mcp.out.match(/\bruns\b/g)).toHaveLength(6);
  const compared = await project.cli(["diff", "agent-1", "agent-2", "--all", "--no-color"]);
  expect(compared.out).toContain("turn 2 tide-1: Bring");
});
