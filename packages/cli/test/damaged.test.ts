/** One damaged row or journal: it is shown as damaged, and the rest goes on. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

function tamper(text: string): void {
  const database = new DatabaseSync(join(project.folder, ".durable", "journal.db"));
  expect(database.prepare(text).run().changes).toBeGreaterThan(0);
  database.close();
}

interface Listed {
  readonly runs: readonly { readonly runId: string; readonly status: string; readonly error?: object }[];
}

test.each([
  ["status = 'completed'"],
  ["status = 'nonsense'"],
  ["ancestors = '{'"],
  ["tags = '{}'"],
  ["marks = 'x'"],
  ["created_at = 1e308"],
])("a row with %s is listed as damaged, and doctor names it", async (change) => {
  const before = (await project.json(["ls"])) as unknown as Listed;
  tamper(`UPDATE runs SET ${change} WHERE run_id = 'sun-1'`);
  const { code, out } = await project.cli(["ls"]);
  expect(code).toBe(0);
  expect(out).toMatch(/blocked +\S+ +sun-1.*damaged/);
  const { runs } = (await project.json(["ls"])) as unknown as Listed;
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(before.runs.map(({ runId }) => runId).toSorted());
  expect(runs.find(({ runId }) => runId === "sun-1")).toMatchObject({ status: "blocked" });
  const rest = (listed: Listed): unknown[] => listed.runs.filter(({ runId }) => runId !== "sun-1");
  expect(rest({ runs })).toEqual(rest(before));
  const doctor = await project.cli(["doctor"]);
  expect(doctor.out).toMatch(/sun-1 is damaged: .*differs from what was written/);
  expect((await project.cli(["show", "tides-1"])).code).toBe(0);
  const shown = await project.cli(["show", "sun-1"]);
  expect(shown.code).not.toBe(0);
  expect(shown.err).toContain("differs from what was written");
});

test("a journal that cannot be read hides no wait of others from an agent", async () => {
  tamper("UPDATE batches SET body = 'x' WHERE locator = (SELECT locator FROM runs WHERE run_id = 'moon-1')");
  const line = (id: number, method: string, params: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const input = `${line(1, "tools/call", { name: "list_waits", arguments: {} })}\n`;
  const { out } = await project.cli(["mcp"], { input });
  const reply = JSON.parse(out.trim().split("\n").at(-1) ?? "") as {
    result: { content: { text: string }[] };
  };
  const { waits, unreadable } = JSON.parse(reply.result.content[0]?.text ?? "") as {
    waits: { runId: string }[];
    unreadable: { runId: string; code: string }[];
  };
  expect(waits.map(({ runId }) => runId)).toContain("old-1");
  expect(unreadable).toMatchObject([{ runId: "moon-1", code: "corrupt" }]);
});
