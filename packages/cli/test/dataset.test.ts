/** `durable export --dataset`: examples as a folder, which tests replay and evals ask again. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable, MemoryStorage, type App, type Context } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { exampleNote, exampleScore } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { replayGolden } from "@durable/testing";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createBrief } from "./fixtures/workflows.ts";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
  onTestFinished(() => project.remove());
});

const brief = createBrief(() => Promise.resolve());
const read = (name: string): string => readFileSync(join(project.folder, "set", name), "utf8");

async function store<T>(work: (app: App) => Promise<T>): Promise<T> {
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const app = createApp({ storage, workflows: [], bind: false });
  try {
    return await work(app);
  } finally {
    await app.close();
    await storage.close();
  }
}

async function keep(runId: string, label: string, expected?: unknown): Promise<void> {
  const note = exampleNote({ label, ...(expected !== undefined && { expected }) });
  await store((app) => app.get(runId).score(exampleScore, true, note));
}

test("writes what is kept as an example, the same each time, and its journals replay", async () => {
  expect((await project.cli(["export", "--dataset", "set"])).code).toBe(3);
  await keep("tides-1", "about tides", { approved: true });
  await keep("tides-2", "a fork");
  await store((app) => app.get("tides-1").score("helpful", 0.5, "so so"));
  const said = await project.cli(["export", "--dataset", "set"]);
  expect([said.code, said.err]).toEqual([0, expect.stringContaining("Wrote 2 runs to set.")]);
  expect(readdirSync(join(project.folder, "set")).toSorted()).toEqual([
    "manifest.json",
    "tides-1.json",
    "tides-2.json",
  ]);
  expect(JSON.parse(read("manifest.json"))).toEqual({
    format: "durable-dataset",
    v: 1,
    redacted: true,
    examples: [
      {
        file: "tides-1.json",
        runId: "tides-1",
        workflow: "research-brief",
        label: "about tides",
        expected: { approved: true },
        scores: [{ name: "helpful", value: 0.5, note: "so so" }],
      },
      { file: "tides-2.json", runId: "tides-2", workflow: "research-brief", label: "a fork" },
    ],
  });
  const { journals } = await replayGolden(join(project.folder, "set"), { against: brief });
  expect(journals.map(({ runId, verdict }) => [runId, verdict])).toEqual([
    ["tides-1", "replays"],
    ["tides-2", "replays"],
  ]);
  const globbed = await replayGolden(join(project.folder, "set", "*.json"), { against: brief });
  expect(globbed.journals).toHaveLength(2);
  const before = read("tides-2.json");
  await project.cli(["export", "--dataset", "set"]);
  expect(read("tides-2.json")).toBe(before);
  await store((app) => app.get("tides-1").score(exampleScore, null));
  await project.cli(["export", "--dataset", "set"]);
  expect(readdirSync(join(project.folder, "set")).toSorted()).toEqual(["manifest.json", "tides-2.json"]);
});

test("a file of it can be imported, and a folder that is not a dataset is left alone", async () => {
  await project.cli(["export", "--dataset", "set", "tides-2"]);
  const imported = await project.cli(["import", "set/tides-2.json", "--store", "other.db"]);
  expect(imported.code, imported.err).toBe(0);
  const shown = await project.cli(["ls", "--store", "other.db", "--json"]);
  expect(JSON.parse(shown.out)).toMatchObject({ runs: [{ runId: "tides-2" }, { runId: "tides-1" }] });
  writeFileSync(join(project.folder, "notes.txt"), "mine");
  const refused = await project.cli(["export", "--dataset", ".", "tides-2"]);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining("is not empty, and not a dataset"),
  ]);
  expect(readdirSync(project.folder)).toContain("notes.txt");
});

const letter = durable(
  "letter",
  async (ctx: Context, to: { readonly mail: string; readonly apiKey: string }) => {
    const found = await ctx.step(
      "find",
      () => ({ mail: to.mail, words: "x".repeat(6_000), city: "Lisbon" }),
      {
        input: to,
      },
    );
    return ctx.step("write", () => `Dear ${found.mail} in ${found.city}`, { input: found });
  },
);
const privates = ["ada@example.org", "sk-0123456789abcdef0123456789", "Lisbon"];

test.each([
  ["plain", undefined],
  ["encrypted", aesGcm({ keys: { k: crypto.getRandomValues(new Uint8Array(32)) }, current: "k" })],
])("what is private is nowhere in it, and it replays: %s", async (_, encryption) => {
  const { writeDataset } = await import("../src/dataset.ts");
  const { redact } = await import("../../dashboard/src/export/redact.ts");
  const storage = new MemoryStorage();
  const app = createApp({ storage, workflows: [letter], bind: false, ...(encryption && { encryption }) });
  const [mail = "", apiKey = ""] = privates;
  await app.run("letter", { mail, apiKey }, { id: "letter-1", tags: { customer: mail } });
  await app
    .get("letter-1")
    .score(exampleScore, 1, exampleNote({ label: `asks ${mail}`, expected: { city: "Lisbon" } }));
  const folder = join(project.folder, "set");
  const hide = (value: unknown): unknown => redact(value as string, ["city"]);
  await writeDataset(folder, ["letter-1"], { app, storage, redact: hide });
  const text = read("letter-1.json") + read("manifest.json");
  // The output is a text in which the name of the field is not known.
  for (const one of privates.slice(0, 2)) expect(text).not.toContain(one);
  expect(text).not.toContain('"city": "Lisbon"');
  expect(text).not.toContain('"$": "sealed"');
  expect(text).toContain("Dear [redacted] in");
  const { journals } = await replayGolden(folder, { against: letter, report: true });
  expect(journals).toMatchObject([{ runId: "letter-1" }]);
  await writeDataset(folder, ["letter-1"], { app, storage, redact: null });
  const whole = await replayGolden(folder, { against: letter });
  expect(whole.journals).toMatchObject([{ verdict: "replays" }]);
  expect(read("letter-1.json")).toContain(mail);
});
