#!/usr/bin/env node
// The `durable` command of this checkout: it starts the TypeScript sources with the Node that came with the install, so it needs no
// build. In the folder of the workspace, where no program keeps a journal, it reads what `npm run demo` wrote.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isTooOld } from "./node-version.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const demo = join("examples", "agent-loop", ".durable");
const args = process.argv.slice(2);
const env = { ...process.env };

const isNamed = args.some((arg) => /^--(store|app)(=|$)/.test(arg)) || env.DURABLE_URL || env.DURABLE_DIR;
const isRoot = realpathSync(process.cwd()) === realpathSync(root);
if (isRoot && !isNamed && !existsSync(".durable") && existsSync(demo)) {
  env.DURABLE_DIR = demo;
  if (!args.includes("--json")) console.error(`The journal of npm run demo: ${demo}`);
}

const bundled = join(root, "node_modules", ".bin", "node");
const node = isTooOld(process.versions.node) && existsSync(bundled) ? bundled : process.execPath;
const child = spawn(
  node,
  ["--conditions=durable-source", join(root, "packages", "cli", "src", "bin.ts"), ...args],
  { stdio: "inherit", env },
);
// A terminal sends Ctrl-C to both; the command decides when it ends.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
