/**
 * The first commands of a new user, in every kind of folder that one has: installs the packed core with npm 10 and 11, pnpm,
 * yarn, Bun and Deno, runs the program of the README, stops it in the middle as Ctrl-C does, and runs it again. Then
 * `durable init` from the packed packages. Nothing may be printed besides what the README shows. Needs `npm run build`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { bun, deno } from "../runtimes/test/support/binaries.ts";
import { table } from "./lib/consumer-matrix.ts";
import { installOldNode, npmInstall } from "./lib/installs.ts";
import { packInto } from "./lib/pack.ts";
import { root } from "./lib/workspace.ts";

const { values } = parseArgs({ options: { only: { type: "string" } } });

type Command = readonly string[];
interface Manager {
  readonly name: string;
  readonly add: (tarball: string) => Command;
  /** Runs a program where the installed packages are found. */
  readonly run: (file: string) => Command;
  /** Makes the package.json of a new project. */
  readonly init: Command;
}
interface Cell {
  readonly folder: string;
  readonly manager: Manager;
  readonly node: string;
}

const program = /```ts run\n(\/\/ story\.mts\n[^]*?)```/.exec(
  readFileSync(join(root, "README.md"), "utf8"),
)?.[1];
if (program === undefined) throw new Error("README.md has no story.mts.");

const rows: string[][] = [];
const reports: string[] = [];
const began = performance.now();
await packInto(async (tarballs, home) => {
  const managers = installManagers(join(home, "managers"));
  const nodes = { old: installOldNode(join(home, "nodes")), new: process.execPath };
  for (const cell of cellsOf(managers, nodes)) {
    const name = [cell.folder, cell.manager.name, await versionOf(cell.node)];
    if (values.only !== undefined && !name.join(" ").includes(values.only)) continue;
    const first = await attempt(name, () => tryReadme(join(home, `a${rows.length}`), cell, tarballs));
    const init = cell.manager.name.startsWith("npm")
      ? await attempt(name, () => tryInit(join(home, `b${rows.length}`), cell, tarballs))
      : "-";
    rows.push([...name, first, init]);
    console.log(rows.at(-1)?.join(" | "));
  }
});
console.log(table([["Folder", "with", "Node", "README", "durable init"], ...rows]));
for (const report of reports) console.error(report);
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `first: ${rows.length} folders in ${seconds} s, ${reports.length === 0 ? "all green" : `${reports.length} FAILED`}`,
);
process.exitCode = reports.length === 0 && rows.length > 0 ? 0 : 1;

async function attempt(name: readonly string[], work: () => Promise<void>): Promise<string> {
  try {
    await work();
    return "ok";
  } catch (error) {
    reports.push(`${name.join(", ")}: ${String(error)}`);
    return "FAILED";
  }
}

function installManagers(folder: string): Record<"npm10" | "npm11" | "pnpm" | "yarn1" | "yarn4", string> {
  const paths = {
    npm10: ["npm@10", "npm/bin/npm-cli.js"],
    npm11: ["npm@11", "npm/bin/npm-cli.js"],
    pnpm: ["pnpm@10", "pnpm/bin/pnpm.cjs"],
    yarn1: ["yarn@1.22.22", "yarn/bin/yarn.js"],
    yarn4: ["@yarnpkg/cli-dist@4", "@yarnpkg/cli-dist/bin/yarn.js"],
  } as const;
  const installed = Object.entries(paths).map(([name, [what, bin]]) => {
    npmInstall(join(folder, name), [what]);
    return [name, join(folder, name, "node_modules", bin)];
  });
  return Object.fromEntries(installed) as Record<keyof typeof paths, string>;
}

function plain(file: string): Command {
  return ["node", file];
}

function cellsOf(managers: ReturnType<typeof installManagers>, nodes: { old: string; new: string }): Cell[] {
  const npm = (name: string, cli: string): Manager => ({
    name,
    add: (tarball) => ["node", cli, "install", tarball],
    run: plain,
    init: ["node", cli, "init", "-y"],
  });
  const npms = [npm("npm 10", managers.npm10), npm("npm 11", managers.npm11)];
  const others: readonly Manager[] = [
    {
      name: "pnpm 10",
      add: (tarball) => ["node", managers.pnpm, "add", tarball],
      run: plain,
      init: ["node", managers.pnpm, "init"],
    },
    {
      name: "yarn 1",
      add: (tarball) => ["node", managers.yarn1, "add", tarball],
      run: plain,
      init: ["node", managers.yarn1, "init", "-y"],
    },
    {
      name: "yarn 4",
      add: (tarball) => ["node", managers.yarn4, "add", `@durable/core@file:${tarball}`],
      run: plain,
      init: ["node", managers.yarn4, "init", "-y"],
    },
    ...(bun === null ? [] : [ofBun(bun)]),
    ...(deno === null ? [] : [ofDeno(deno, managers.npm11)]),
  ];
  return [
    ...npms.flatMap((manager) =>
      [nodes.old, nodes.new].flatMap((node) =>
        ["empty", "init -y", "CommonJS project", "ES modules"].map((folder) => ({ folder, manager, node })),
      ),
    ),
    ...others.flatMap((manager) => ["empty", "init"].map((folder) => ({ folder, manager, node: nodes.new }))),
  ];
}

function ofBun(bun: string): Manager {
  return {
    name: "Bun",
    add: (tarball) => [bun, "add", tarball],
    run: (file) => [bun, file],
    init: [bun, "init", "-y"],
  };
}

/** Deno installs no files of npm pack by itself, so npm does; from the registry it is `deno add npm:@durable/core`. */
function ofDeno(deno: string, npm: string): Manager {
  return {
    name: "Deno",
    add: (tarball) => ["node", npm, "install", tarball],
    run: (file) => [deno, "run", "-A", file],
    init: ["node", npm, "init", "-y"],
  };
}

function manifest(type: string): string {
  return `${JSON.stringify({ name: "mine", version: "1.0.0", type }, null, 2)}\n`;
}

/** Makes the folder as its name says. */
async function prepare(home: string, { folder, manager, node }: Cell): Promise<void> {
  mkdirSync(home, { recursive: true });
  if (folder.startsWith("init")) await finish(manager.init, home, node);
  if (folder === "ES modules") writeFileSync(join(home, "package.json"), manifest("module"));
  if (folder === "CommonJS project") {
    writeFileSync(join(home, "package.json"), manifest("commonjs"));
    writeFileSync(
      join(home, "index.js"),
      'const { join } = require("node:path");\nconsole.log(join("a", "b"));\n',
    );
  }
  if (manager.name !== "yarn 4") return;
  // Yarn takes the first parent that is a project; an empty file says that this folder is one.
  writeFileSync(join(home, "yarn.lock"), "");
  // With Plug'n'Play, the default, Node 26 starts no program that is an ES module.
  writeFileSync(join(home, ".yarnrc.yml"), "nodeLinker: node-modules\n");
}

async function tryReadme(home: string, cell: Cell, tarballs: string): Promise<void> {
  await prepare(home, cell);
  const core = tarballOf(tarballs, "core");
  await finish(cell.manager.add(core), home, cell.node);
  writeFileSync(join(home, "story.mts"), program as string);
  await playTwice(home, cell, "story.mts", "model: moon");
}

/** Stops the program in the middle, and runs it again: finished work does not run again. */
async function playTwice(home: string, { manager, node }: Cell, file: string, until: string): Promise<void> {
  const [command = "", ...args] = manager.run(file);
  const first = start(command, args, home, node);
  let said = "";
  first.stdout?.on("data", (text: Buffer) => {
    said += text.toString();
    if (said.includes(until)) stop(first);
  });
  const { err } = await ended(first);
  if (!said.includes(until)) throw new Error(`the first run did not get to "${until}":\n${said}\n${err}`);
  if (err !== "") throw new Error(`the first run says:\n${err}`);
  const second = await finish([command, ...args], home, node);
  if (second.out.includes("model: plan")) throw new Error(`the plan was made again:\n${second.out}`);
  if (!second.out.includes("completed")) throw new Error(`it did not complete:\n${second.out}`);
  if (second.err !== "") throw new Error(`the second run says:\n${second.err}`);
}

/** As in docs/guides/operate/command-line.md, with the packages that are not published yet. */
async function tryInit(home: string, cell: Cell, tarballs: string): Promise<void> {
  await prepare(home, cell);
  const [node, npm = ""] = cell.manager.init;
  if (node === undefined) return;
  const from = ["core", "cli"].flatMap((name) => ["--package", tarballOf(tarballs, name)]);
  await finish(
    ["node", npm, "exec", "--yes", ...from, "--", "durable", "init", "--from", tarballs],
    home,
    cell.node,
  );
  await playTwice(home, cell, "workflows/story.mts", "model: moon");
  const shown = await finish(["node", npm, "exec", "--", "durable", "show", "demo"], home, cell.node);
  if (!shown.out.includes("completed")) throw new Error(`durable show says:\n${shown.out}`);
}

function tarballOf(folder: string, name: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return join(folder, `durable-${name}-${version}.tgz`);
}

function start(command: string, args: readonly string[], cwd: string, node: string): ChildProcess {
  // The Node under test comes first, and nothing of this workspace is found.
  const inherited = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((part) => !part.includes("node_modules"));
  const bin = join(cwd, "..", `bin-${node.replaceAll(/\W/g, "").slice(-40)}`);
  linkNode(bin, node);
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE|DURABLE|CI$|COLOR)/i.test(name)),
  );
  const quiet = { npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" };
  return spawn(command, [...args], {
    cwd,
    env: { ...env, ...quiet, YARN_ENABLE_TELEMETRY: "0", PATH: [bin, ...inherited].join(delimiter) },
    stdio: ["ignore", "pipe", "pipe"],
    // A package manager that runs the program gets the signal with it, as from a terminal.
    detached: true,
  });
}

function linkNode(bin: string, node: string): void {
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "node"), `#!/bin/sh\nexec "${node}" "$@"\n`, { mode: 0o755 });
}

function stop(child: ChildProcess): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    process.kill(-child.pid, "SIGINT");
}

async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (text: Buffer) => (out += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (err += text.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, out, err };
}

async function finish(command: Command, cwd: string, node: string): Promise<{ out: string; err: string }> {
  const [file = "", ...args] = command;
  const { code, out, err } = await ended(start(file, args, cwd, node));
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${out}\n${err}`);
  return { out, err };
}

async function versionOf(node: string): Promise<string> {
  const { out } = await finish([node, "--version"], dirname(root), node);
  return out.trim().slice(1);
}
