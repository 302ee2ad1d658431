import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { root } from "../lib/workspace.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Stands in for npm: notes what it was asked, packs an empty tarball, and knows what was published. */
const npm = `#!/bin/sh
echo "$*" >> npm.log 2> /dev/null || true
case "$1" in
  pack) for place in "$@"; do :; done; echo > "$place/$(basename "$PWD")-9.9.9.tgz" ;;
  view) [ -f published ] && echo 0.1.0 ;;
  run) [ "$3" != "$(cat red 2> /dev/null)" ] ;;
esac
`;

const address = "https://github.com/durable-workflow/durable";
const files: Record<string, string> = {
  ".gitignore": "node_modules\nnpm.log\nred\npublished\n",
  LICENSE: "MIT",
  "CHANGELOG.md": [
    "# Changelog\n\n## [Unreleased]\n\n- Something new.\n\n## [0.1.0] - 2026-11-15\n\n- All of it.\n",
    `[Unreleased]: ${address}/compare/v0.1.0...HEAD\n[0.1.0]: ${address}/releases/tag/v0.1.0\n`,
  ].join("\n"),
  "package.json": JSON.stringify({ version: "0.1.0", type: "module", workspaces: ["packages/*"] }),
  "package-lock.json": JSON.stringify({ version: "0.1.0", packages: { "": { version: "0.1.0" } } }),
  "node_modules/.bin/npm": npm,
};
for (const [name, dependencies] of [
  ["http", { "@durable/core": "0.1.0" }],
  ["core", {}],
] as const) {
  const repository = { type: "git", url: `git+${address}.git`, directory: `packages/${name}` };
  files[`packages/${name}/package.json`] = JSON.stringify({
    name: `@durable/${name}`,
    version: "0.1.0",
    repository,
    dependencies,
  });
  files[`packages/${name}/dist/index.js`] = "export {};\n";
}

/** A repository of two packages, on main, with nothing to commit. */
function repository(): string {
  const base = mkdtempSync(join(tmpdir(), "durable-release-"));
  folders.push(base);
  for (const path of ["scripts/release.ts", "scripts/lib"])
    cpSync(join(root, path), join(base, path), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text, { mode: 0o755 });
  }
  git(base, "init", "--quiet", "--initial-branch=main");
  git(base, "add", "--all");
  git(base, "commit", "--quiet", "--message", "first");
  return base;
}

const identity = {
  GIT_AUTHOR_NAME: "test",
  GIT_AUTHOR_EMAIL: "test@example.org",
  GIT_COMMITTER_NAME: "test",
  GIT_COMMITTER_EMAIL: "test@example.org",
};

function call(base: string, command: string, args: readonly string[]) {
  const env = { ...process.env, ...identity };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: base, env, encoding: "utf8" });
  return { status, said: stdout + stderr };
}

function git(base: string, ...args: string[]): string {
  const { status, said } = call(base, "git", args);
  if (status !== 0) throw new Error(said);
  return said.trim();
}

const release = (base: string, ...args: string[]) =>
  call(base, process.execPath, ["scripts/release.ts", ...args]);
const read = (base: string, file: string): string => readFileSync(join(base, file), "utf8");
const published = (base: string): string[] =>
  read(base, "npm.log")
    .split("\n")
    .filter((line) => line.startsWith("publish "))
    .map((line) => line.replace(/publish \S*\/(\S+)/, "$1"));

describe.skipIf(process.platform === "win32")("npm run release", () => {
  it("sets the version everywhere, cuts the changelog, checks, commits and tags; it publishes nothing", () => {
    const base = repository();
    const { status, said } = release(base, "minor");
    expect(said).toContain("- Something new.");
    expect(status).toBe(0);
    for (const file of ["package.json", "package-lock.json", "packages/core/package.json"])
      expect(JSON.parse(read(base, file))).toMatchObject({ version: "0.2.0" });
    expect(JSON.parse(read(base, "packages/http/package.json"))).toMatchObject({
      version: "0.2.0",
      dependencies: { "@durable/core": "0.2.0" },
    });
    expect(read(base, "CHANGELOG.md")).toMatch(/## \[Unreleased\]\n\n## \[0\.2\.0\] - \d{4}-\d\d-\d\d\n/);
    expect(git(base, "log", "-1", "--format=%s")).toBe("release: 0.2.0");
    expect(git(base, "tag", "--points-at", "HEAD")).toBe("v0.2.0");
    expect(git(base, "status", "--porcelain")).toBe("");
    expect(published(base)).toEqual([]);
    expect(said).toContain("to publish: npm publish core-9.9.9.tgz --provenance --access public");
    for (const check of ["build", "packages:check", "consumers:check"])
      expect(read(base, "npm.log")).toContain(`run --silent ${check}\n`);
  });

  it("leaves everything as it was in a dry run", () => {
    const base = repository();
    const { status, said } = release(base, "patch", "--dry-run");
    expect(status).toBe(0);
    expect(said).toContain("would run: git tag --annotate v0.1.1");
    expect(git(base, "status", "--porcelain")).toBe("");
    expect(git(base, "tag")).toBe("");
  });

  it("leaves everything as it was when a check is red", () => {
    const base = repository();
    writeFileSync(join(base, "red"), "packages:check");
    const { status, said } = release(base, "minor");
    expect(said).toContain("release: 0.2.0 was not made");
    expect(status).toBe(1);
    expect(git(base, "status", "--porcelain")).toBe("");
    expect(git(base, "log", "--format=%s")).toBe("first");
  });

  it("refuses changes that are not committed, other branches, and versions that are taken", () => {
    const base = repository();
    git(base, "tag", "v0.2.0");
    git(base, "switch", "--quiet", "--create", "side");
    writeFileSync(join(base, "LICENSE"), "another");
    const { status, said } = release(base, "minor");
    expect(status).toBe(1);
    expect(said).toContain("the working tree has changes");
    expect(said).toContain('this is branch "side"');
    expect(said).toContain("there is a tag v0.2.0 already");
    expect(existsSync(join(base, "npm.log"))).toBe(false);
  });

  it("publishes what is tagged, dependencies first, and what is published already not again", () => {
    const base = repository();
    expect(release(base, "--publish")).toMatchObject({ status: 1 });
    git(base, "tag", "v0.1.0");
    expect(release(base, "--publish").said).toContain("release: 0.1.0 is published");
    const flags = "--provenance --access public";
    expect(published(base)).toEqual([`core-9.9.9.tgz ${flags}`, `http-9.9.9.tgz ${flags}`]);
    writeFileSync(join(base, "published"), "");
    const again = release(base, "--publish");
    expect(again.status).toBe(0);
    expect(again.said).toContain("@durable/core@0.1.0 is published already");
    expect(published(base)).toHaveLength(2);
  });
});
