/** What the scripts know about the workspace: its folders, its packages and how to run its tools. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A value of `exports` or `imports`: a path, or conditions that lead to one. */
export type Target = string | { readonly [condition: string]: Target };

export type Manifest = {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: { readonly url: string };
  readonly license?: string;
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly bin?: Record<string, string>;
  readonly files?: readonly string[];
  readonly exports?: Record<string, Target>;
  readonly imports?: Record<string, Target>;
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>;
  readonly optionalDependencies?: Record<string, string>;
  readonly engines?: Record<string, string>;
};

export type Package = { readonly dir: string; readonly manifest: Manifest };

function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as Manifest;
}

/** The packages under `packages/`, by name. */
export function listPackages(base: string = root): Package[] {
  const parent = join(base, "packages");
  return readdirSync(parent)
    .map((name) => join(parent, name))
    .filter((dir) => existsSync(join(dir, "package.json")))
    .map((dir) => ({ dir, manifest: readManifest(dir) }))
    .toSorted((a, b) => a.manifest.name.localeCompare(b.manifest.name));
}

/** A specifier that users import, and the source file behind it. */
export type EntryPoint = { readonly specifier: string; readonly source: string };

/** The packages that are published. */
export function publishedPackages(base: string = root): Package[] {
  return listPackages(base).filter(({ manifest }) => manifest.private !== true);
}

/** The entry points of a package. */
export function entryPoints({ dir, manifest }: Package): EntryPoint[] {
  return Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]) => {
    const file = typeof target === "string" ? undefined : target["durable-source"];
    if (typeof file !== "string") return [];
    return [{ specifier: manifest.name + subpath.slice(1), source: join(dir, file) }];
  });
}

/**
 * The JavaScript files of `dist` that a manifest names: what users import and start, and what the package imports by
 * condition.
 */
export function builtFiles(manifest: Manifest): string[] {
  return namedFiles(manifest, /^\.\/dist\/.*\.js$/);
}

/** The declarations of `dist` that a manifest names. */
export function declarationFiles(manifest: Manifest): string[] {
  return namedFiles(manifest, /^\.\/dist\/.*\.d\.ts$/);
}

function namedFiles({ exports = {}, imports = {}, bin = {} }: Manifest, shape: RegExp): string[] {
  const paths = (target: Target): string[] =>
    typeof target === "string" ? [target] : Object.values(target).flatMap(paths);
  const all = [...Object.values(exports), ...Object.values(imports), ...Object.values(bin)].flatMap(paths);
  return [...new Set(all)].filter((path) => shape.test(path));
}

/** Dependencies a user of the package gets or has to bring. */
export function declaredDependencies(manifest: Manifest): string[] {
  return Object.keys({
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  });
}

/** Packages in an order where each comes after those it depends on. */
export function buildOrder(packages: readonly Package[]): Package[] {
  const byName = new Map(packages.map((entry) => [entry.manifest.name, entry]));
  const ordered = new Set<Package>();
  const visit = (entry: Package, path: readonly string[]): void => {
    const { name } = entry.manifest;
    if (path.includes(name))
      throw new Error(`Packages depend on each other: ${[...path, name].join(" -> ")}`);
    for (const dependency of declaredDependencies(entry.manifest)) {
      const found = byName.get(dependency);
      if (found) visit(found, [...path, name]);
    }
    ordered.add(entry);
  };
  for (const entry of packages) visit(entry, []);
  return [...ordered];
}

/** Runs a tool of the workspace, with its output shown; true when it succeeded. */
export function run(command: string, args: readonly string[], cwd: string = root): boolean {
  const options = { cwd, env: environment(), shell: needsShell(command) };
  const { status, error } = spawnSync(command, args, { ...options, stdio: "inherit" });
  if (error) console.error(`${command}: ${error.message}`);
  return status === 0;
}

/** The same, but what the tool says is shown only when it fails. */
export function runQuietly(command: string, args: readonly string[], cwd: string = root): boolean {
  const { ok, said } = capture(command, args, { cwd });
  if (!ok) console.error([command, said].join("\n"));
  return ok;
}

export type Captured = {
  readonly ok: boolean;
  readonly stdout: string;
  /** Both of its outputs, or why it could not be started. */
  readonly said: string;
};

/** The same, but what the tool says is given back. */
export function capture(
  command: string,
  args: readonly string[],
  { cwd = root, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Captured {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...environment(), ...env },
    shell: needsShell(command),
  });
  return {
    ok: status === 0,
    stdout: stdout ?? "",
    said: error ? error.message : [stdout, stderr].join("\n").trim(),
  };
}

/** Our tools first on the path, so that they run on the Node this workspace installs, not on the machine's. */
export function environment(): NodeJS.ProcessEnv {
  const PATH = [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);
  return { ...process.env, PATH };
}

/** npm and the tools it installs are scripts on Windows, which only a shell can start by name. */
export function needsShell(command: string): boolean {
  return process.platform === "win32" && !isAbsolute(command);
}
