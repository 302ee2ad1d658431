/** The package managers with which the first commands of a new user are tried, as far as they can be had. */
import { join } from "node:path";
import { bun, deno } from "../../runtimes/test/support/binaries.ts";
import { npmInstall } from "./installs.ts";

export type Command = readonly string[];

/** The files of npm pack of the packages that are needed first. */
export interface Tarballs {
  readonly core: string;
  readonly cli: string;
}

export interface Manager {
  readonly name: string;
  /** `packageManager` of a package.json. */
  readonly declared: string;
  /** The commands that a shell finds. */
  readonly commands: Readonly<Record<string, Command>>;
  readonly add: (files: Tarballs) => Command;
  /** Runs a program where the installed packages are found. */
  readonly run: (file: string) => Command;
  /** Makes the package.json of a new project. */
  readonly init: Command;
  /** Starts `durable`, which nothing has installed; the last of several commands gets its arguments. */
  readonly durable: ((files: Tarballs) => readonly Command[]) | null;
}

export function installManagers(folder: string): {
  readonly npms: readonly Manager[];
  readonly others: readonly Manager[];
} {
  const npms = [ofNpm(folder, 10), ofNpm(folder, 11)] as const;
  const others = [ofPnpm(folder), ofYarn1(folder, npms[1]), ofYarn4(folder)];
  if (bun !== null) others.push(ofBun(bun));
  if (deno !== null) others.push(ofDeno(deno, npms[1]));
  return { npms, others };
}

function fetched(folder: string, what: string, bin: string): string {
  const name = what.replaceAll(/\W/g, "");
  npmInstall(join(folder, name), [what]);
  return join(folder, name, "node_modules", bin);
}

function withNode(file: string): Command {
  return ["node", file];
}

function ofNpm(folder: string, version: 10 | 11): Manager {
  const cli = fetched(folder, `npm@${version}`, "npm/bin/npm-cli.js");
  return {
    name: `npm ${version}`,
    declared: `npm@${version}.0.0`,
    commands: { npm: ["node", cli], npx: ["node", cli.replace("npm-cli", "npx-cli")] },
    add: ({ core }) => ["npm", "install", core],
    run: withNode,
    init: ["npm", "init", "-y"],
    durable: ({ core, cli }) => [["npx", "--yes", "--package", core, "--package", cli, "--", "durable"]],
  };
}

function ofPnpm(folder: string): Manager {
  return {
    name: "pnpm 10",
    declared: "pnpm@10.0.0",
    commands: { pnpm: ["node", fetched(folder, "pnpm@10", "pnpm/bin/pnpm.cjs")] },
    add: ({ core }) => ["pnpm", "add", core],
    run: withNode,
    init: ["pnpm", "init"],
    durable: ({ core, cli }) => [["pnpm", `--package=${core}`, `--package=${cli}`, "dlx", "durable"]],
  };
}

/** Yarn 1 runs no package that is not installed, and commands only in the folder of package.json: added first, and npx runs it. */
function ofYarn1(folder: string, npm: Manager): Manager {
  return {
    name: "yarn 1",
    declared: "yarn@1.22.22",
    commands: { ...npm.commands, yarn: ["node", fetched(folder, "yarn@1.22.22", "yarn/bin/yarn.js")] },
    add: ({ core }) => ["yarn", "add", core],
    run: withNode,
    init: ["yarn", "init", "-y"],
    durable: ({ core, cli }) => [
      ["yarn", "add", "--dev", core, cli],
      ["npx", "durable"],
    ],
  };
}

function ofYarn4(folder: string): Manager {
  const file = fetched(folder, "@yarnpkg/cli-dist@4", "@yarnpkg/cli-dist/bin/yarn.js");
  return {
    name: "yarn 4",
    declared: "yarn@4.0.0",
    commands: { yarn: ["node", file] },
    add: ({ core }) => ["yarn", "add", `@durable/core@file:${core}`],
    run: withNode,
    init: ["yarn", "init", "-y"],
    durable: ({ core, cli }) => [
      ["yarn", "dlx", "-q", "-p", `@durable/core@file:${core}`, "-p", `@durable/cli@file:${cli}`, "durable"],
    ],
  };
}

function ofBun(bun: string): Manager {
  return {
    name: "Bun",
    declared: "bun@1.3.0",
    commands: { bun: [bun], bunx: [bun, "x"] },
    add: ({ core }) => ["bun", "add", core],
    run: (file) => ["bun", file],
    init: ["bun", "init", "-y"],
    durable: ({ core, cli }) => [
      ["bun", "add", "--dev", core, cli],
      ["bunx", "durable"],
    ],
  };
}

/** Deno installs no files of npm pack by itself, so npm does; from the registry it is `deno add npm:@durable/core`. */
function ofDeno(deno: string, npm: Manager): Manager {
  return {
    ...npm,
    name: "Deno",
    commands: { ...npm.commands, deno: [deno] },
    run: (file) => ["deno", "run", "-A", file],
    durable: null,
  };
}
