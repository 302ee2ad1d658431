/** The grammar of searches in the command line, pages of lists, and times. */

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
