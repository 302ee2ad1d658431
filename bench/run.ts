/**
 * `npm run bench`: builds the packages, installs the peers in this folder, compiles the harness and starts it.
 * The harness runs as plain JavaScript, because stripping types would count as start-up time of every subject.
 */

import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { environment, needsShell, root } from "../scripts/lib/workspace.ts";

const bench = fileURLToPath(new URL(".", import.meta.url));
const built = join(bench, ".build");
const [entry = "main", ...args] = process.argv.slice(2);

function run(command: string, given: readonly string[], cwd: string): boolean {
  const { status } = spawnSync(command, given, {
    cwd,
    stdio: "inherit",
    env: environment(),
    shell: needsShell(command),
  });
  return status === 0;
}

const timeOf = (path: string): number => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** Peers are optional: without them, the others are measured, and the report says which are missing. */
function install(): void {
  const installed = join(bench, "node_modules", ".package-lock.json");
  if (timeOf(installed) >= timeOf(join(bench, "package-lock.json"))) return;
  console.log("bench: installing the peers");
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  if (!run("npm", ["ci", ...flags], bench))
    console.log("bench: the peers could not be installed, so they are skipped");
}

function buildPackages(): void {
  const sources = globSync("packages/*/src/**/*.ts", { cwd: root }).map((file) => timeOf(join(root, file)));
  if (timeOf(join(root, "packages/core/dist/index.js")) > Math.max(...sources)) return;
  if (!run("npm", ["run", "--silent", "build"], root)) process.exit(1);
}

buildPackages();
if (entry === "main") install();
rmSync(built, { recursive: true, force: true });
await build({
  absWorkingDir: bench,
  entryPoints: [
    "src/main.ts",
    "src/curve.ts",
    "src/child.ts",

    ...globSync("src/subjects/*.ts", { cwd: bench }),
  ],
  outbase: join(bench, "src"),
  outdir: built,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  packages: "external",
  logLevel: "error",
});
process.exitCode = run("node", ["--no-warnings", join(built, `${entry}.js`), ...args], bench) ? 0 : 1;
