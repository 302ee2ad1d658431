/** The grammar of searches in the command line, pages of lists, and times. */

import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeAll(async () => void (project = await Project.withRuns()));
afterAll(() => project.remove());

const idsOf = async (...args: string[]): Promise<string[]> => {
  const { runs } = await project.json(["ls", ...args]);
  return (runs as { runId: string }[]).map(({ runId }) => runId);
};

test.each([
  ["status:failed,blocked", ["old-1", "sun-1"]],
  ["prompt-v2", ["tides-2"]],
  ["status:queued parent:tides-1", ["tides-2"]],
  ["since:2026-01-02", []],
  ["until:2026-01-01 workflow:legacy", ["old-1"]],
])("--where %s", async (where, ids) => {
  expect(await idsOf("--where", where)).toEqual(ids);
});

test.each([
  ["status:nope", /"nope" is not a status/],
  ["foo:bar", /"foo:bar" is not a filter/],
  ["since:yesterday", /is no time/],
])("--where %s is not taken for a word", async (where, problem) => {
  const { code, err } = await project.cli(["ls", "--where", where]);
  expect(code).toBe(2);
  expect(err).toMatch(problem);
});

test("--where cost asks at the prices that were given, in every command that chooses runs", async () => {
  const dear = ["moon-1", "sun-1", "tides-1"];
  const asked = ["--where", "cost>0.05", "--prices", "prices.json"];
  expect(await idsOf("--where", "cost>0.05")).toEqual([]);
  expect((await idsOf(...asked)).toSorted()).toEqual(dear);
  for (const command of ["rm", "cancel"]) {
    const { runs } = await project.json([command, ...asked, "--dry-run"]);
    expect(dear, command).toEqual(expect.arrayContaining(runs as string[]));
    expect(runs, command).not.toEqual([]);
  }
  const { runs } = await project.json(["export", ...asked, "-o", "dear.json"]);
  expect((runs as string[]).toSorted()).toEqual(dear);
  const copied = await project.json(["copy", ".durable/journal.db", "dear.db", ...asked]);
  expect(copied).toMatchObject({ runs: 3 });
});

test("--status takes several, --since and --until take days", async () => {
  expect(await idsOf("--status", "failed,blocked")).toEqual(["old-1", "sun-1"]);
  expect(await idsOf("--since", "2026-01-01", "--until", "2026-01-01")).toHaveLength(5);
});

test("a list goes on at its cursor, each run once, with and without a filter", async () => {
  const all = await idsOf();
  for (const filter of [[], ["--where", "1"], ["--status", "completed,blocked,suspended,failed"]]) {
    const wanted = filter[1] === "1" ? all.filter((id) => id.includes("1")) : all;
    const seen: string[] = [];
    for (let cursor: string | null = "0."; cursor !== null;) {
      const { runs, next } = await project.json(["ls", "-n", "2", ...filter, "--cursor", cursor]);
      seen.push(...(runs as { runId: string }[]).map(({ runId }) => runId));
      cursor = next as string | null;
    }
    expect(seen).toEqual(wanted);
  }
  const { code, err } = await project.cli(["ls", "--cursor", "x"]);
  expect([code, err]).toEqual([2, expect.stringContaining("not a cursor")]);
});

test("times are those of the reader and name their zone; --utc shows UTC", async () => {
  const env = { TZ: "Europe/Berlin" };
  const berlin = await project.cli(["ls"], { env });
  const utc = await project.cli(["ls", "--utc"], { env });
  expect(berlin.out).toContain("STARTED (CET)");
  expect(utc.out).toContain("STARTED (UTC)");
  const timeIn = (out: string): string => /moon-1 +(\d\d):/.exec(out)?.[1] ?? "";
  expect(Number(timeIn(berlin.out))).toBe(Number(timeIn(utc.out)) + 1);
  expect((await project.cli(["show", "moon-1"], { env })).out).toMatch(/until .* CET/);
});

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The times of a document: numbers that are later than 2001, and texts. */
function timesIn(value: unknown): { readonly numbers: number; readonly texts: number } {
  if (typeof value === "number") return { numbers: value > 1e12 ? 1 : 0, texts: 0 };
  if (typeof value === "string") return { numbers: 0, texts: iso.test(value) ? 1 : 0 };
  const all = Object.values(Object(value) as object).map(timesIn);
  return {
    numbers: all.reduce((sum, { numbers }) => sum + numbers, 0),
    texts: all.reduce((sum, { texts }) => sum + texts, 0),
  };
}

test.each([
  ["ls"],
  ["show", "tides-1"],
  ["show", "moon-1"],
  ["show", "tides-2"],
  ["show", "tides-1", "--step", "publish"],
  ["show", "tides-1", "--journal"],
  ["tree", "tides-1"],
])("machines get times as ISO 8601 in UTC: %s %s", async (...args) => {
  const document = await project.json(args, { env: { TZ: "Europe/Berlin" } });
  const { numbers, texts } = timesIn(document);
  expect(numbers, JSON.stringify(document, null, 1)).toBe(0);
  expect(texts).toBeGreaterThan(0);
});

test("MCP gives the same times, and values of users stay as they were recorded", async () => {
  const storage = new SqliteStorage(join(project.folder, "values.db"));
  const kept = { createdAt: 1_767_225_600_000, runs: [{ at: 1_767_225_600_001 }] };
  const flow = durable("flow", (ctx) => ctx.step("keep", () => kept), { storage });
  await flow.run(kept, { id: "kept" });
  await storage.close();
  const at = ["--store", "values.db"];
  expect((await project.json(["show", "kept", ...at]))["run"]).toMatchObject({
    startedAt: expect.stringMatching(iso) as string,
    input: kept,
    output: kept,
  });
  expect(await project.json(["show", "kept", "--step", "keep", ...at])).toMatchObject({
    step: { startedAt: expect.stringMatching(iso) as string, value: kept },
  });
  const asked = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "show_run", arguments: { run: "kept" } },
  };
  const { out } = await project.cli(["mcp", ...at], { input: `${JSON.stringify(asked)}\n` });
  expect(JSON.parse(out)).toMatchObject({
    result: {
      structuredContent: { startedAt: expect.stringMatching(iso) as string, input: kept, output: kept },
    },
  });
});

test("what is not read on a terminal is not cut", async () => {
  const wide = await project.cli(["ls"]);
  const narrow = await project.cli(["ls"], { env: { COLUMNS: "60" } });
  expect(wide.out).not.toContain("…");
  expect(wide.out).toMatch(/sun-1 .*sun was not approved/);
  expect(narrow.out.split("\n").every((line) => line.length <= 60)).toBe(true);
});

test("a run that is no fork is not compared with itself", async () => {
  const { code, err } = await project.cli(["diff", "tides-1"]);
  expect(code).toBe(2);
  expect(err).toContain("tides-1 is no fork");
});
