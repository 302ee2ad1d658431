/** How far a long step is (`info.heartbeat`), while it has not settled: on the command line and over MCP. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { Project } from "./support/lab.ts";

const copy = durable("copy", (ctx) =>
  ctx.step(
    "pages",
    ({ heartbeat }) => {
      heartbeat({ page: 7, of: 12, by: "\u001B[31mred" });
      throw new Error("page 8 is torn");
    },
    { retry: { delay: "1 day", maxDelay: "1 day", jitter: false } },
  ),
);

test("durable show and MCP say how far a step is", async () => {
  const project = new Project();
  onTestFinished(() => project.remove());
  mkdirSync(join(project.folder, ".durable"));
  const storage = new SqliteStorage({ path: join(project.folder, ".durable", "journal.db") });
  await createApp({ storage, workflows: [copy], bind: false, patience: 0 })
    .run(copy, undefined, { id: "c1" })
    .catch(() => {});
  await storage.close();
  const progress = { page: 7, of: 12, by: "\u001B[31mred" };
  const shown = await project.cli(["show", "c1", "--step", "pages", "--no-color"]);
  expect(shown.out).toContain(String.raw`progress  {"page":7,"of":12,"by":"\u001b[31mred"}`);
  expect(shown.out).not.toContain("\u001B");
  expect(await project.json(["show", "c1"])).toMatchObject({ run: { rows: [{ key: "pages", progress }] } });
  const calls = [
    { name: "show_run", arguments: { run: "c1" } },
    { name: "get_step", arguments: { run: "c1", key: "pages" } },
  ];
  const asked = calls.map((params, id) =>
    JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
  );
  const mcp = await project.cli(["mcp"], { input: `${asked.join("\n")}\n` });
  const answers = mcp.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number; result: { content: [{ text: string }] } })
    .toSorted((a, b) => a.id - b.id)
    .map(({ result }) => JSON.parse(result.content[0].text) as unknown);
  expect(answers).toMatchObject([{ rows: [{ key: "pages", progress }] }, { key: "pages", progress }]);
});
