/** The kinds of folder that people have when they try this for the first time. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command, Manager } from "./first-managers.ts";
import { npmInstall } from "./installs.ts";
import { capture } from "./workspace.ts";

export interface Making {
  /** A new folder, for all of it. */
  readonly home: string;
  readonly manager: Manager;
  /** The project that Vite makes. */
  readonly vite: string;
  /** Runs a command of the manager. */
  readonly run: (command: Command, folder: string) => Promise<unknown>;
}

/** Makes the folder, and gives the place where one types the first command. */
type Make = (making: Making) => Promise<string> | string;

export const folders: Readonly<Record<string, Make>> = {
  empty: ({ home, manager }) => ownProject(home, manager),
  "init -y": async ({ home, manager, run }) => {
    await run(manager.init, home);
    return ownProject(home, manager);
  },
  CommonJS: ({ home, manager }) => {
    write(home, "package.json", json({ name: "mine", version: "1.0.0", type: "commonjs" }));
    write(home, "index.js", 'const { join } = require("node:path");\nconsole.log(join("a", "b"));\n');
    return ownProject(home, manager);
  },
  "ES modules": ({ home, manager }) => {
    write(home, "package.json", json({ name: "mine", version: "1.0.0", type: "module" }));
    return ownProject(home, manager);
  },
  "package of a monorepo": ({ home, manager }) => {
    const workspaces = ["packages/*"];
    write(
      home,
      "package.json",
      json({ name: "mono", private: true, workspaces, packageManager: manager.declared }),
    );
    if (manager.name.startsWith("pnpm")) write(home, "pnpm-workspace.yaml", 'packages:\n  - "packages/*"\n');
    write(home, "packages/app/package.json", json({ name: "app", version: "1.0.0", private: true }));
    ownProject(home, manager);
    return join(home, "packages", "app");
  },
  "space and umlaut": ({ home, manager }) => {
    const folder = join(home, "Mein Büro (日本)");
    mkdirSync(folder);
    return ownProject(folder, manager);
  },
  "TypeScript of Vite": ({ home, manager, vite }) => {
    cpSync(vite, home, { recursive: true });
    return ownProject(home, manager);
  },
  "folder in a repository": ({ home, manager }) => {
    if (!capture("git", ["init", "--quiet"], { cwd: home }).ok) throw new Error("git init failed");
    write(home, "package.json", json({ name: "site", version: "1.0.0", private: true, type: "commonjs" }));
    ownProject(home, manager);
    const folder = join(home, "tools", "try");
    mkdirSync(folder, { recursive: true });
    return folder;
  },
};

/** What `npm create vite` makes of TypeScript, once. */
export function makeVite(home: string): string {
  npmInstall(join(home, "create-vite"), ["create-vite"]);
  const creator = join(home, "create-vite", "node_modules", "create-vite", "index.js");
  const args = [creator, "app", "--template", "vanilla-ts", "--no-interactive"];
  const { ok, said } = capture(process.execPath, args, { cwd: home });
  if (!ok) throw new Error(`Vite made no project:\n${said}`);
  return join(home, "app");
}

/** Yarn 4 takes the first parent that is a project. An empty lock file makes this folder one. */
function ownProject(folder: string, { name }: Manager): string {
  if (name !== "yarn 4") return folder;
  write(folder, "yarn.lock", "");
  // With Plug'n'Play, the default, Node 26 starts no program that is an ES module.
  write(folder, ".yarnrc.yml", "nodeLinker: node-modules\n");
  return folder;
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function write(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
