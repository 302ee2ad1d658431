import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, inject, it } from "vitest";
import { runStage } from "../lib/run-stage.ts";
import { readReport, tally } from "../lib/tally.ts";
import { root } from "../lib/workspace.ts";
import { stages } from "../stages.ts";

/** Each takes the whole list of stages, with a process for each: some here, all in `npm run test:full`. */
const full = inject("full");

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const scriptsOf = (base: string): Record<string, string> =>
  (JSON.parse(readFileSync(join(base, "package.json"), "utf8")) as { scripts: Record<string, string> })
    .scripts;

/** Stands in for npm, which takes its time: a script is a file of its name. */
const npm = `#!/bin/sh
[ "$1" = ci ] && exec test -f package-lock.json
[ "$1" = run ] && shift
[ "$1" = --silent ] && shift
name="$1"; shift
[ "$1" = -- ] && shift
exec sh "named/$name" "$@"
`;

/** A workspace in which every stage is green; `changes` replaces scripts, and null removes one. */
function workspace(changes: Record<string, string | null> = {}): string {
  const base = mkdtempSync(join(tmpdir(), "durable-verify-test-"));
  folders.push(base);
  for (const path of [".ci/run", "scripts/verify.ts", "scripts/stages.ts", "scripts/lib"])
    cpSync(join(root, path), join(base, path), { recursive: true });
  const green = stages.map(({ name, counts }) => [name, counts ? report(3, 0) : `echo ran ${name}`]);
  const all = {
    ...Object.fromEntries(green),
    verify: `${process.execPath} scripts/verify.ts "$@"`,
    ...changes,
  };
  const scripts = Object.entries<string | null>(all).filter(([, text]) => text !== null);
  const files = {
    "package.json": JSON.stringify({ type: "module", scripts: Object.fromEntries(scripts) }),
    "package-lock.json": "{}",
    "node_modules/.bin/npm": npm,
    ...Object.fromEntries(scripts.map(([name, text]) => [`named/${name}`, text ?? ""])),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text, { mode: 0o755 });
  }
  return base;
}

/** A script that reports tests as vitest does; the failed ones are called `breaks`. */
function report(passed: number, failed: number): string {
  const failure = {
    fullName: "breaks",
    status: "failed",
    failureMessages: ["expected 1 to be 2\n  at a line"],
  };
  const counts = JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    testResults: [
      { name: "a.test.ts", status: "", assertionResults: Array.from({ length: failed }, () => failure) },
    ],
  });
  return `printf %s '${counts}' > "$TEST_REPORT"; exit ${Math.min(failed, 1)}`;
}

/** Runs a command there. */
function command(base: string, line: readonly [string, ...string[]]) {
  const { TEST_REPORT: _, NODE_OPTIONS: __, ...env } = process.env;
  const PATH = [join(base, "node_modules", ".bin"), env["PATH"]].join(delimiter);
  mkdirSync(join(base, "tmp"), { recursive: true });
  const [program, ...args] = line;
  const { status, stdout } = spawnSync(program, args, {
    cwd: base,
    env: { ...env, PATH, TMPDIR: join(base, "tmp") },
    encoding: "utf8",
  });
  return { status, stdout, last: stdout.trimEnd().split("\n").at(-1) };
}

describe("the list of stages", () => {
  it("names scripts of the workspace, each once", () => {
    const scripts = scriptsOf(root);
    const missing = stages.filter(({ name }) => scripts[name] === undefined);
    expect(missing).toEqual([]);
    expect(new Set(stages.map(({ name }) => name)).size).toBe(stages.length);
  });

  it("has every check of the workspace", () => {
    const checks = Object.keys(scriptsOf(root)).filter((name) =>
      /:check$|^(lint|types|size|test)/.test(name),
    );
    expect(checks.filter((name) => !stages.some((stage) => stage.name === name))).toEqual([]);
  });

  it("is the only one: the script of the checks names no stage", () => {
    const text = readFileSync(join(root, ".ci", "run"), "utf8");
    expect(stages.filter(({ name }) => name !== "test" && text.includes(name))).toEqual([]);
  });
});

describe("the tally", () => {
  const green = { name: "lint", ok: true, tests: null };
  const tests = { name: "test", ok: true, tests: { passed: 5, failed: 0, failures: [] } };

  it("adds up tests of several stages", () => {
    const full = { name: "test:full", ok: true, tests: { passed: 7, failed: 0, failures: [] } };
    expect(tally([tests, green, full])).toEqual({ passed: 12, failed: 0, red: [], failures: [] });
  });

  it("counts failed tests once, and a red stage as one", () => {
    const broken = { name: "test", ok: false, tests: { passed: 4, failed: 2, failures: [] } };
    expect(tally([broken, { ...green, ok: false }])).toEqual({
      passed: 4,
      failed: 3,
      red: ["test", "lint"],
      failures: [],
    });
  });

  it("takes a run that was cut off, and one without a test, for a failure", () => {
    const cut = { name: "test", ok: false, tests: { passed: 0, failed: 0, failures: [] } };
    expect(tally([cut])).toEqual({ passed: 0, failed: 1, red: ["test"], failures: [] });
    expect(tally([{ ...cut, ok: true }])).toEqual({ passed: 0, failed: 1, red: ["test"], failures: [] });
  });

  it("names a test file that did not load", () => {
    const base = workspace();
    const file = { name: "b.test.ts", status: "failed", message: "no such module", assertionResults: [] };
    writeFileSync(join(base, "r.json"), JSON.stringify({ testResults: [file] }));
    expect(readReport(join(base, "r.json")).failures).toEqual(["b.test.ts\n    no such module"]);
  });

  it("reads vitest's report, and takes a missing one for no tests", () => {
    const base = workspace();
    writeFileSync(join(base, "r.json"), '{ "numPassedTests": 4, "numFailedTests": 1, "success": false }');
    expect(readReport(join(base, "r.json"))).toEqual({ passed: 4, failed: 1, failures: [] });
    expect(readReport(join(base, "nowhere.json"))).toEqual({ passed: 0, failed: 0, failures: [] });
  });
});

describe.skipIf(process.platform === "win32")("a stage", () => {
  it.runIf(full)("that hangs is ended in time, with all it has started", async () => {
    const base = workspace();
    const beat = 'setInterval(() => require("node:fs").writeFileSync("beat", String(Date.now())), 20)';
    const hang = `spawn(process.execPath, ["--eval", ${JSON.stringify(beat)}]); setInterval(() => {}, 1000);`;
    writeFileSync(join(base, "hang.mjs"), `import { spawn } from "node:child_process"; ${hang}`);
    const manifest = { scripts: { hang: `${process.execPath} hang.mjs` } };
    writeFileSync(join(base, "package.json"), JSON.stringify(manifest));
    expect(await runStage("hang", { cwd: base, seconds: 12 })).toBe(false);
    const last = readFileSync(join(base, "beat"), "utf8");
    await sleep(300);
    expect(readFileSync(join(base, "beat"), "utf8")).toBe(last);
  });

  it("has failed when no time is left for it", async () => {
    expect(await runStage("lint", { cwd: workspace(), seconds: 0 })).toBe(false);
  });
});

describe.skipIf(process.platform === "win32")("npm run verify", () => {
  it("runs all stages, also after a red one, and ends with the counts", () => {
    const base = workspace({ lint: "exit 1" });
    const { status, stdout, last } = command(base, ["npm", "run", "verify"]);
    expect(last).toBe("6 passed, 1 failed");
    expect(status).toBe(1);
    expect(stdout).toContain("ran docs:check");
    expect(stdout).toContain(`verify: 1 of ${stages.length} stages failed: lint`);
  });

  it.runIf(full)("ends a stage that eats the time there is, and says which stages had none", () => {
    const base = workspace({ lint: "exec sleep 100" });
    const { stdout, last } = command(base, ["npm", "run", "verify", "--", "--seconds", "8"]);
    expect(stdout).toMatch(/lint: not done after \d s/);
    expect(stdout).toContain("docs:check: no time left");
    expect(last).toMatch(/^3 passed, [1-9]\d* failed$/);
  });
});

describe.skipIf(process.platform === "win32")(".ci/run", () => {
  it("installs, tests, checks, and ends with the counts of both test stages", () => {
    const base = workspace();
    const { status, stdout, last } = command(base, ["bash", ".ci/run"]);
    expect(last).toBe("6 passed, 0 failed");
    expect(status).toBe(0);
    for (const { name, counts } of stages)
      if (!counts) expect(stdout.split("\n").filter((line) => line === `ran ${name}`)).toHaveLength(1);
    expect(readdirSync(join(base, "tmp")).filter((name) => name.startsWith("durable-"))).toEqual([]);
  });

  it.runIf(full)("counts failed tests and goes on to the checks", () => {
    const base = workspace({ test: report(2, 1), types: "exit 1" });
    const { status, stdout, last } = command(base, ["bash", ".ci/run"]);
    expect(last).toBe("5 passed, 2 failed");
    expect(status).toBe(1);
    expect(stdout).toMatch(/failed: a\.test\.ts > breaks\n {4}expected 1 to be 2\nverify: 2 of/);
    expect(stdout).toContain("ran docs:check");
  });

  it.runIf(full)("says one failed when it cannot install, and when the checks break off", () => {
    const uninstallable = workspace();
    rmSync(join(uninstallable, "package-lock.json"));
    expect(command(uninstallable, ["bash", ".ci/run"])).toMatchObject({
      status: 1,
      last: "0 passed, 1 failed",
    });
    const broken = workspace({ verify: "echo a fault; exit 0" });
    expect(command(broken, ["bash", ".ci/run"])).toMatchObject({ status: 1, last: "0 passed, 1 failed" });
  });
});
