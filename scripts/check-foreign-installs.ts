/**
 * Installs the workspace as every other platform would, into a scratch copy of its manifests, and checks that each
 * binary of that platform is there. Nothing is built or run: the binaries cannot run here.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { families, type Lock, type Platform, platforms } from "./lib/lock.ts";
import { root, runQuietly } from "./lib/workspace.ts";

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
const workspaces = Object.keys(lock.packages).filter((path) => !path.includes("node_modules"));
const here = `${process.platform}-${process.arch}`;
const asked = process.argv.slice(2);
const foreign = platforms.filter(({ name }) => (asked.length > 0 ? asked.includes(name) : name !== here));

const missing = foreign.flatMap(install);
for (const problem of missing) console.error(`foreign: ${problem}`);
console.log(
  missing.length === 0
    ? `foreign: installed as ${foreign.map(({ name }) => name).join(", ")}; every binary is there`
    : `foreign: ${missing.length} binaries are missing`,
);
process.exitCode = missing.length === 0 ? 0 : 1;

function install(platform: Platform): string[] {
  const folder = mkdtempSync(join(tmpdir(), `durable-${platform.name}-`));
  try {
    for (const path of [
      ...workspaces.map((dir) => join(dir, "package.json")),
      "package-lock.json",
      ".npmrc",
    ]) {
      cpSync(join(root, path), join(folder, path), { recursive: true });
    }
    const args = [
      `--os=${platform.os}`,
      `--cpu=${platform.cpu}`,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
    ];
    if (!runQuietly("npm", ["ci", ...args], folder)) return [`npm ci failed as ${platform.name}`];

    const expected = families(lock).map(({ owner, bindings }) => ({
      owner,
      paths: bindings.get(platform.name) ?? [],
    }));
    // Of several that fit (builds for older processors, say) npm installs all; one is enough to run.
    const absent = expected.filter(
      ({ paths }) => !paths.some((path) => existsSync(join(folder, path, "package.json"))),
    );
    console.log(
      `foreign: ${platform.name} ${expected.length - absent.length} of ${expected.length} families`,
    );
    return absent.map(({ owner }) => `${owner} has no binary as ${platform.name}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
