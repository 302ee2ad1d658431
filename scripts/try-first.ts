/**
 * The first commands of a new user, in every kind of folder that one has: installs the packed core with npm 10 and 11, pnpm,
 * yarn, Bun and Deno, runs the program of the README, stops it in the middle as Ctrl-C does, and runs it again. Then
 * `durable init` from the packed packages, and what it says to type. Nothing may be printed besides what the README shows.
 * Needs `npm run build`. `-- --only "pnpm"` tries the rows whose names contain that.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "./lib/consumer-matrix.ts";
import { folders, makeVite } from "./lib/first-folders.ts";
import { type Command, installManagers, type Manager, type Tarballs } from "./lib/first-managers.ts";
import { type Cell, ended, Shell, stop } from "./lib/first-shell.ts";
import { installOldNode } from "./lib/installs.ts";
import { packInto } from "./lib/pack.ts";
import { root } from "./lib/workspace.ts";

const { values } = parseArgs({ options: { only: { type: "string" } } });
/** Rows at a time: most of each is waiting. */
const atOnce = 3;

const program = /```ts run\n(\/\/ story\.mts\n[^]*?)```/.exec(
  readFileSync(join(root, "README.md"), "utf8"),
)?.[1];
if (program === undefined) throw new Error("README.md has no story.mts.");

const rows: (readonly string[])[] = [];
const reports: string[] = [];
const began = performance.now();
await packInto(async (folder, home) => {
  mkdirSync(home, { recursive: true });
  const { npms, others } = installManagers(join(home, "managers"));
  const old = installOldNode(join(home, "nodes"));
  const vite = makeVite(home);
  const all = [
    ...npms.flatMap((manager) => [old, process.execPath].flatMap((node) => cellsOf(manager, node))),
    ...others.flatMap((manager) => cellsOf(manager, process.execPath)),
  ];
  const cells = all.filter(({ name }) => values.only === undefined || name.join(" ").includes(values.only));
  const left = cells.map((cell, index) => ({ cell, index }));
  const trier = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const place = { folder, vite, home: join(home, `row-${next.index}`) };
      const row = await tryCell(next.cell, place);
      rows[next.index] = row;
      console.log(row.join(" | "));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, trier));
});
console.log(table([["Folder", "with", "Node", "README", "durable init"], ...rows]));
for (const report of reports) console.error(report);
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `first: ${rows.length} rows, ${Object.keys(folders).length} kinds of folder, in ${seconds} s, ${reports.length === 0 ? "all green" : `${reports.length} FAILED`}`,
);
process.exitCode = reports.length === 0 && rows.length > 0 ? 0 : 1;

function cellsOf(manager: Manager, node: string): readonly Cell[] {
  const version = node === process.execPath ? process.version.slice(1) : "22.18.0";
  return Object.keys(folders).map((folder) => ({
    folder,
    manager,
    node,
    name: [folder, manager.name, version],
  }));
}

interface Place {
  /** The files of npm pack. */
  readonly folder: string;
  readonly vite: string;
  readonly home: string;
}

async function tryCell(cell: Cell, place: Place): Promise<readonly string[]> {
  const first = await attempt(cell, () => tryReadme(new Shell(cell, join(place.home, "readme")), place));
  const init =
    cell.manager.durable === null
      ? "-"
      : await attempt(cell, () => tryInit(new Shell(cell, join(place.home, "init")), place));
  return [...cell.name, first, init];
}

async function attempt({ name }: Cell, work: () => Promise<void>): Promise<string> {
  try {
    await work();
    return "ok";
  } catch (error) {
    reports.push(`${name.join(", ")}: ${String(error)}`);
    return "FAILED";
  }
}

async function tryReadme(shell: Shell, place: Place): Promise<void> {
  const folder = await shell.prepare(place.vite);
  const { manager } = shell.cell;
  await shell.finish(manager.add(tarballsIn(place.folder)), folder);
  writeFileSync(join(folder, "story.mts"), program as string);
  await playTwice(shell, folder, manager.run("story.mts"));
}

/** Stops the program in the middle, and runs it again: finished work does not run again. */
async function playTwice(shell: Shell, folder: string, command: Command): Promise<void> {
  const until = "model: moon";
  const first = shell.start(command, folder);
  let said = "";
  first.stdout?.on("data", (text: Buffer) => {
    said += text.toString();
    if (said.includes(until)) stop(first);
  });
  const { err } = await ended(first);
  if (!said.includes(until)) throw new Error(`the first run did not get to "${until}":\n${said}\n${err}`);
  if (err !== "") throw new Error(`the first run says:\n${err}`);
  const second = await shell.finish(command, folder);
  if (second.out.includes("model: plan")) throw new Error(`the plan was made again:\n${second.out}`);
  if (!second.out.includes("completed")) throw new Error(`it did not complete:\n${second.out}`);
  if (second.err !== "") throw new Error(`the second run says:\n${second.err}`);
}

/** As in docs/start/templates.md, with the packages that are not published yet, and then what `durable init` says to type. */
async function tryInit(shell: Shell, place: Place): Promise<void> {
  const { manager } = shell.cell;
  const folder = await shell.prepare(place.vite);
  const commands = manager.durable?.(tarballsIn(place.folder)) ?? [];
  for (const command of commands.slice(0, -1)) await shell.finish(command, folder);
  const { err } = await shell.finish([...(commands.at(-1) ?? []), "init", "--from", place.folder], folder);
  const typed = err
    .split("\n")
    .flatMap((line) => /^ {2}((?:node|bun|npm|npx|bunx|yarn|pnpm) .*)$/.exec(line)?.[1] ?? []);
  const [installed, play = "", show = ""] = typed;
  const name = manager.name.split(" ")[0]?.toLowerCase() ?? "";
  if (typed.length !== 3 || installed !== `${name} install`) throw new Error(`durable init says:\n${err}`);
  await playTwice(shell, folder, ["sh", "-c", play]);
  const shown = await shell.finish(["sh", "-c", show], folder);
  if (!shown.out.includes("completed")) throw new Error(`${show} says:\n${shown.out}`);
}

function tarballsIn(folder: string): Tarballs {
  const file = (name: string): string => {
    const manifest = readFileSync(join(root, "packages", name, "package.json"), "utf8");
    const path = join(folder, `durable-${name}-${(JSON.parse(manifest) as { version: string }).version}.tgz`);
    if (!existsSync(path)) throw new Error(`${path} was not packed.`);
    return path;
  };
  return { core: file("core"), cli: file("cli") };
}
