/** An archive may come from anybody: what does not fit is refused before anything is written, and an import ends. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

type Run = {
  head: Record<string, unknown> & { ancestors: string[]; locator: string; runId: string };
  batches: string[];
  blobs: Record<string, string>;
  from?: unknown;
};

async function exported(change: (runs: Run[]) => void): Promise<string> {
  await project.cli(["export", "tides-2", "moon-1", "-o", "out.json"]);
  const path = join(project.folder, "out.json");
  const archive = JSON.parse(readFileSync(path, "utf8")) as { runs: Run[] };
  change(archive.runs);
  writeFileSync(path, JSON.stringify(archive));
  return path;
}

const last = (runs: Run[]): Run => runs.at(-1)!;

test.each<[string, (runs: Run[]) => void, RegExp]>([
  ["an id that is a path", (runs) => (last(runs).head.runId = "../../etc/x"), /"runId" of its head/],
  ["another id", (runs) => (last(runs).head.runId = "other"), /its locator is not that of "other"/],
  ["a locator that is no hash", (runs) => (last(runs).head.locator = "../x"), /"locator" of its head/],
  ["a locator of another run", (runs) => (last(runs).head.locator = runs[0]!.head.locator), /its locator/],
  ["a batch that is no JSON", (runs) => (last(runs).batches[1] = "{"), /batch 1 is invalid/],
  ["a batch that is a list", (runs) => (last(runs).batches[0] = "[]"), /batch 0 is invalid/],
  ["a batch that is null", (runs) => (last(runs).batches[0] = "null"), /batch 0 is invalid/],
  ["batches that are numbers", (runs) => (last(runs).batches = [1] as never), /it has no batches/],
  ["no batches", (runs) => (last(runs).batches = []), /it has no batches/],
  ["no head", (runs) => (last(runs).head = null as never), /it has no head/],
  ["a run that is a text", (runs) => (runs[0] = "x" as never), /run 1: it has no head/],
  ["a run twice", (runs) => runs.push(structuredClone(last(runs))), /is there twice/],
  ["a far beginning", (runs) => (last(runs).from = 1e9), /"from" is 1000000000/],
  [
    "a far beginning and a far chapter",
    (runs) => ([last(runs).from, last(runs).head["chapter"]] = [1e6 + 1, 1e6 + 1]),
    /"from" is 1000001/,
  ],
  ["a beginning below zero", (runs) => (last(runs).from = -1), /"from" is -1/],
  ["a beginning that is no number", (runs) => (last(runs).from = "1"), /"from" is "1"/],
  ["a chapter after the end", (runs) => (last(runs).head["chapter"] = 500), /its chapter begins at 500/],
  [
    "a run that reads itself",
    (runs) => (last(runs).head.ancestors = [last(runs).head.locator]),
    /reads itself/,
  ],
  [
    "runs that read each other",
    (runs) => {
      const [first, second] = [runs[0]!, runs[1]!];
      first.head.ancestors = [second.head.locator];
      second.head.ancestors = [first.head.locator];
    },
    /reads itself/,
  ],
  ["a time beyond dates", (runs) => (last(runs).head["createdAt"] = 1e300), /"createdAt" of its head/],
  ["a status that is none", (runs) => (last(runs).head["status"] = "approved"), /"status" of its head/],
  ["tags that are no texts", (runs) => (last(runs).head["tags"] = { a: 1 }), /"tags" of its head/],
  ["blobs that are no texts", (runs) => (last(runs).blobs = { a: 1 } as never), /its blobs are no texts/],
  ["a workflow of another name", (runs) => (last(runs).head["workflow"] = "pay"), /it is the journal of/],
])("an archive with %s is refused", async (_what, change, message) => {
  await exported(change);
  const said = await project.cli(["import", "out.json", "-s", "other/journal.db"]);
  expect(said.err).toMatch(message);
  expect(said.err).toContain("Nothing was imported.");
  expect(said.code).not.toBe(0);
  expect(existsSync(join(project.folder, "other", "journal.db"))).toBe(false);
});

test("an archive whose journal lacks what a fork reads is refused for that run alone", async () => {
  await exported((runs) => runs.splice(0, 1));
  const said = await project.json(["import", "out.json", "-s", "other/journal.db"]);
  expect(said["refused"]).toHaveLength(1);
  expect(said["runs"]).toBe(1);
});
