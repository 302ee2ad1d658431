import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { Project } from "./support/lab.ts";
import { finish, start } from "./support/process.ts";

const project = new Project();
afterAll(() => project.remove());

/** Runs an example for real; its journal is in the project. */
async function example(name: string, args: readonly string[]): Promise<void> {
  const main = fileURLToPath(new URL(`../../../examples/${name}/src/main.ts`, import.meta.url));
  const env = {
    DURABLE_DIR: join(project.folder, name),
    OPENAI_API_KEY: undefined,
    ANTHROPIC_API_KEY: undefined,
  };
  const { code, err } = await finish(start(main, args, { cwd: project.folder, env }));
  expect(code, err).toBe(0);
}

/** Labels of the waterfall, without bars and numbers. */
async function labels(args: readonly string[]): Promise<string[]> {
  const { out } = await project.cli(args, { now: Date.now() });
  const lines = out.split("\n");
  const axis = lines.findIndex((line) => /^\s+0s/.test(line));
  const end = lines.findIndex((line, i) => i > axis && line === "");
  return lines.slice(axis + 1, end).map((line) => /^ *(?:[^ ]+ ?)+/.exec(line)?.[0].trimEnd() ?? "");
}

describe("durable show of an example", () => {
  test.runIf(inject("full"))(
    "loan-underwriting: two lanes, a person in each, and a fork that reused them",
    async () => {
      await example("loan-underwriting", ["demo"]);
      const store = ["-s", "loan-underwriting"];
      expect(await labels(["show", "demo-credit", ...store])).toEqual([
        " ⫶ parallel",
        " ├ ┬ credit",
        " │ ↺ pull",
        " │ ↺ assess",
        " │ ✓ review",
        " └ ┬ appraisal",
        "   ↺ search",
        "   ↺ value",
        "   ↺ review",
        " ✓ decide",
      ]);
      const { out } = await project.cli(["show", "demo-credit", ...store]);
      expect(out).toContain(
        '⑂ of demo "credit reviewed again" from parallel[credit]/review · 4 of 5 steps from the journal ↺',
      );
      const tree = await project.cli(["tree", "demo-credit", ...store]);
      expect(tree.out.split("\n").map((line) => line.split("  ")[0])).toEqual([
        "✓ demo",
        "├─⑂ ✓ demo-decision",
        "└─⑂ ✓ demo-credit",
        "",
      ]);
      const { run } = (await project.json(["show", "demo-credit", ...store])) as { run: { totals: object } };
      expect(run.totals).toMatchObject({ settled: 5, fromJournal: 4, attempts: 1 });
    },
  );

  test.skipIf(!inject("full"))("coding-agent: speculative branches", async () => {
    await example("coding-agent", []);
    expect(await labels(["show", "coding-agent", "-s", "coding-agent"])).toEqual([
      " ✓ plan",
      " ⫶ try",
      " ├ ✓ sort/fork",
      " ├ ✓ scan/fork",
      " └ ✓ expand/fork",
      " ✓ plan#2",
      " ⫶ try#2",
      " ├ ✓ mark/fork",
      " └ ✓ clamp/fork",
      " ✓ deliver",
    ]);
  });
});

test("a run of 10,000 steps is shown in part, or as a whole; a journal of many runs is read in pages", async () => {
  const storage = new SqliteStorage(join(project.folder, "large.db"));
  // A fifth of the steps in `npm test`.
  const rounds = inject("full") ? 100 : 20;
  const count = inject("full") ? 5_000 : 100;
  const items = Array.from({ length: 100 }, (_, i) => i);
  const large = durable(
    "large",
    async (ctx) => {
      for (let i = 0; i < rounds; i++)
        await ctx.map(items, (branch, item) => branch.step("s", () => item), { name: "part" });
    },
    { storage },
  );
  await large.run(undefined, { id: "large" });
  const small = durable("small", () => 1, { storage });
  await Promise.all(Array.from({ length: count }, (_, i) => small.run(undefined, { id: `small-${i}` })));
  await storage.close();
  const store = ["-s", "large.db"];
  const { out } = await project.cli(["show", "large", ...store], { now: Date.now() });
  expect(out.split("\n").length).toBeLessThan(130);
  expect(out).toContain("more rows: durable show large --all");
  const all = await project.cli(["show", "large", "--all", ...store], { now: Date.now() });
  expect(all.out.split("\n").length).toBeGreaterThan(rounds * items.length);
  const { runs, more } = (await project.json(["ls", ...store])) as { runs: object[]; more: boolean };
  expect([runs.length, more]).toEqual([20, true]);
  const found = (await project.json(["show", `small-${count - 1}`, ...store])) as { run: object };
  expect(found.run).toMatchObject({ status: "completed" });
});
