import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { Project, workflowsFile } from "./support/lab.ts";
import { says, start } from "./support/process.ts";

let project: Project;
beforeEach(() => {
  project = new Project();
});
afterEach(() => project.remove());

interface Finding {
  readonly level: string;
  readonly check: string;
  readonly text: string;
  readonly fix: string | null;
  readonly runs: readonly string[];
}

const journal = (): string => join(project.folder, ".durable", "journal.db");

/** What is wrong; every finding says what to type. */
async function problems(args: readonly string[] = [], options = {}): Promise<Finding[]> {
  const { findings } = (await project.json(["doctor", ...args], options)) as unknown as {
    findings: Finding[];
  };
  const wrong = findings.filter(({ level }) => level !== "ok");
  for (const { fix } of wrong) expect(fix).toBeTruthy();
  return wrong;
}

/** A sound journal with one run that waits. */
async function waiting(workflow = "research-brief"): Promise<void> {
  mkdirSync(join(project.folder, ".durable"), { mode: 0o700 });
  writeFileSync(join(project.folder, ".durable", ".gitignore"), "*\n");
  const storage = new SqliteStorage(journal());
  const flow = durable(workflow, (ctx) => ctx.suspend("approve"), { storage });
  await flow.run(undefined, { id: "waits" });
  await storage.close();
}

describe("doctor", () => {
  test("has nothing to say about a sound project", async () => {
    await waiting();
    const said = await project.cli(["doctor"]);
    expect(said.out).toContain("Nothing is wrong.");
    expect(said.code).toBe(0);
  });

  test("finds the run of a driver that was killed", async () => {
    await waiting();
    const driver = start(fileURLToPath(new URL("fixtures/stuck.ts", import.meta.url)), [journal()]);
    await says(driver, "driving");
    expect(await problems()).toEqual([]);
    const now = Date.now() + 20 * 60_000;
    const silent = await problems([], { now });
    expect(silent.map(({ check }) => check)).toContain("zombie");
    driver.kill("SIGKILL");
    await once(driver, "exit");
    const found = await problems([], { now: Date.now() });
    expect(found).toMatchObject([{ check: "stranded", level: "fail", runs: ["stuck-1"] }]);
    expect(found[0]?.fix).toContain("durable wake stuck-1");
  });

  test("finds a run that diverged, and one that would", async () => {
    await waiting("legacy");
    const found = await problems(["--app", workflowsFile]);
    expect(found).toMatchObject([
      { check: "diverged", level: "warn", runs: ["waits"], fix: "durable replay waits" },
    ]);
    expect(found[0]?.text).toContain("goes on with just-do-it instead");
    await project.cli(["wake", "waits", "--app", workflowsFile]);
    const blocked = await problems();
    expect(blocked).toMatchObject([{ check: "diverged", runs: ["waits"] }]);
    expect(blocked[0]?.text).toContain("is blocked: diverged");
  });

  test("finds a missing secret, and does not make a new one", async () => {
    await waiting();
    const secret = join(project.folder, ".durable", "secret");
    rmSync(secret);
    expect(await problems()).toMatchObject([{ check: "secret", level: "fail" }]);
    expect(() => readFileSync(secret)).toThrow("ENOENT");
    expect(await problems([], { env: { DURABLE_SECRET: "short" } })).toMatchObject([
      { check: "settings", level: "fail" },
      { check: "app" },
    ]);
  });

  test("finds loose modes and a journal that git does not ignore, and puts both right", async () => {
    await waiting();
    rmSync(join(project.folder, ".durable", ".gitignore"));
    execFileSync("git", ["init", "-q", project.folder]);
    chmodSync(journal(), 0o644);
    const found = await problems();
    expect(found).toMatchObject([{ check: "file-mode" }, { check: "git" }]);
    expect(found[0]?.text).toContain("journal.db (mode 644)");
    const fixed = await project.cli(["doctor", "--fix"]);
    expect(fixed.out).toContain("(put right)");
    expect(fixed.code).toBe(0);
    expect(readFileSync(join(project.folder, ".gitignore"), "utf8")).toBe(".durable/\n");
    expect(await problems()).toEqual([]);
    execFileSync("git", ["-C", project.folder, "add", "-f", ".durable/journal.db"]);
    expect(await problems()).toMatchObject([{ check: "git", fix: "git rm --cached .durable/journal.db" }]);
  });

  test("finds a schema from before the first release", async () => {
    mkdirSync(join(project.folder, ".durable"), { mode: 0o700 });
    const old = new DatabaseSync(journal());
    old.exec("CREATE TABLE runs (id INTEGER); PRAGMA application_id = 0x64757262; PRAGMA user_version = 3");
    old.close();
    chmodSync(journal(), 0o600);
    const found = await problems();
    expect(found[0]).toMatchObject({ check: "schema", level: "fail" });
    expect(found[0]?.text).toContain("has schema 3 of a version before the first release");
    expect(found[0]?.fix).toContain("finish its runs with that version");
  });

  test("finds two apps on one file", async () => {
    await waiting("of-another-app");
    const found = await problems(["--app", workflowsFile]);
    expect(found).toMatchObject([{ check: "two-apps", runs: ["waits"] }]);
    expect(found[0]?.text).toContain("of-another-app");
  });

  test("checks the storage of the app, and says nothing of a file that it does not use", async () => {
    await waiting();
    chmodSync(journal(), 0o644);
    const found = async (...args: string[]): Promise<string[]> => {
      const { findings } = (await project.json(["doctor", ...args])) as { findings?: Finding[] };
      return (findings ?? []).map(({ text }) => text);
    };
    const app = ["--app", fileURLToPath(new URL("fixtures/in-memory.ts", import.meta.url))];
    const memory = await found(...app);
    expect(memory).toContain("MemoryStorage of the app can be read");
    expect(memory.join()).not.toMatch(/journal|mode/);
    // A damaged file that is not used is not spoken of either.
    writeFileSync(journal(), "no database".repeat(200));
    expect(await found(...app)).toEqual(memory);
    expect((await found()).join()).toContain(".durable/journal.db cannot be read");
    expect((await found("--store", "folder:bucket")).join()).not.toContain("journal.db");
  });

  test("says when the journal is missing or damaged, and when the app cannot be loaded", async () => {
    expect(await problems()).toMatchObject([{ check: "journal", level: "warn" }]);
    mkdirSync(join(project.folder, ".durable"), { mode: 0o700 });
    writeFileSync(journal(), "not a database, but long enough to be looked at as one".repeat(20), {
      mode: 0o600,
    });
    expect((await problems())[0]).toMatchObject({ check: "journal", level: "fail" });
    rmSync(journal());
    await waitingAnew();
    writeFileSync(join(project.folder, "broken.ts"), "export default 1 +;\n");
    expect(await problems(["--app", "broken.ts"])).toMatchObject([{ check: "app", level: "fail" }]);
  });
});

async function waitingAnew(): Promise<void> {
  rmSync(join(project.folder, ".durable"), { recursive: true });
  await waiting();
}
