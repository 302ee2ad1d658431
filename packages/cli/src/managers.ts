/** The package manager that a project uses, and what to type with it. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Manager {
  readonly name: ManagerName;
  /** Its arguments to install what package.json has by now, also where CI is set and the lock file is older. */
  readonly install: readonly string[];
  /** Runs a TypeScript program. */
  readonly program: (file: string, options?: string) => string;
  /** Starts a command of an installed package. */
  readonly exec: string;
}

type ManagerName = keyof typeof lockFiles;
type Env = Readonly<Record<string, string | undefined>>;

const lockFiles = {
  pnpm: ["pnpm-lock.yaml", "pnpm-workspace.yaml"],
  yarn: ["yarn.lock"],
  bun: ["bun.lock", "bun.lockb"],
  npm: ["package-lock.json", "npm-shrinkwrap.json"],
} as const;
const names = Object.keys(lockFiles) as readonly ManagerName[];

const managers: Readonly<Record<ManagerName, Manager>> = {
  npm: { name: "npm", install: ["install"], program: withNode, exec: "npx" },
  pnpm: { name: "pnpm", install: ["install", "--no-frozen-lockfile"], program: withNode, exec: "pnpm exec" },
  yarn: { name: "yarn", install: ["install"], program: withNode, exec: "yarn" },
  bun: { name: "bun", install: ["install"], program: typed("bun"), exec: "bunx" },
};

/**
 * That of the nearest folder with a `packageManager` or a lock file, then the one that started this process, then npm.
 */
export function managerOf(root: string, env: Env): Manager {
  const agent = nameIn(env["npm_config_user_agent"]);
  for (const folder of foldersOf(root)) {
    const declared = declaredIn(folder);
    if (declared !== null) return managers[declared];
    const locked = names.filter((name) => lockFiles[name].some((file) => existsSync(join(folder, file))));
    const [first] = locked;
    if (first !== undefined) return managers[agent !== null && locked.includes(agent) ? agent : first];
  }
  return managers[agent ?? "npm"];
}

/** Yarn refuses to change a lock file where CI is set, and only its variable is understood by every version. */
export const installEnv: Env = { YARN_ENABLE_IMMUTABLE_INSTALLS: "false" };

/**
 * The lock file that a folder needs before Yarn installs there. In a folder of a project that is not a workspace, Yarn 4 takes
 * only an empty lock file for the wish to have a project of its own.
 */
export function ownLock(root: string, { name }: Manager): string | null {
  const [, ...above] = foldersOf(root);
  const [file] = lockFiles.yarn;
  const isInside = above.some((folder) => existsSync(join(folder, file))) && !above.some(isWorkspace);
  return name === "yarn" && isInside ? file : null;
}

/** The folder, those above it in its git repository, and workspaces. A lock file in a home folder is not of the project. */
function foldersOf(root: string): readonly string[] {
  const all = [root];
  for (let folder = root; dirname(folder) !== folder;) all.push((folder = dirname(folder)));
  const top = all.findIndex((folder) => existsSync(join(folder, ".git")));
  return all.filter((folder, index) => index <= Math.max(top, 0) || isWorkspace(folder));
}

function isWorkspace(folder: string): boolean {
  return existsSync(join(folder, "pnpm-workspace.yaml")) || manifestIn(folder).workspaces !== undefined;
}

/** The manager that package.json declares. */
function declaredIn(folder: string): ManagerName | null {
  const { packageManager, devEngines } = manifestIn(folder);
  return nameIn(packageManager) ?? nameIn(devEngines?.packageManager?.name);
}

/** `pnpm@10.1.0`, or `pnpm/10.1.0 npm/? node/v26.0.0`. */
function nameIn(text: unknown): ManagerName | null {
  if (typeof text !== "string") return null;
  const [name] = text.split(/[@/]/);
  return names.find((each) => each === name) ?? null;
}

interface Manifest {
  readonly packageManager?: unknown;
  readonly devEngines?: { readonly packageManager?: { readonly name?: unknown } };
  readonly workspaces?: unknown;
}

function manifestIn(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    // None, or not JSON, which `init` refuses for its own folder.
    return {};
  }
}

function withNode(file: string, options?: string): string {
  return typed("node")(file, options);
}

function typed(command: string): Manager["program"] {
  return (file, options) => [command, options, file].filter((part) => part !== undefined).join(" ");
}
