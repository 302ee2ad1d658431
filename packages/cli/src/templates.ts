/** Whole projects for `durable init --template`, and where their packages come from. */

import { cpSync, existsSync, globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CliError } from "./exit.ts";
import { packageFolder, version } from "./version.ts";

/** What a package of ours has for its version in the template. */
const ours = "*";

/** The version to install, for a package of ours: from the registry, or the file of `npm pack` in a folder. */
export type VersionOf = (name: string) => string;

export function versionsIn(folder: string | undefined, cwd: string): VersionOf {
  if (folder === undefined) return () => `^${version()}`;
  const place = resolve(cwd, folder);
  return (name) => {
    const start = `${name.replace("@", "").replace("/", "-")}-`;
    const found = existsSync(place)
      ? readdirSync(place).find(
          (file) => file.startsWith(start) && /^\d.*\.tgz$/.test(file.slice(start.length)),
        )
      : undefined;
    if (found !== undefined) return `file:${join(place, found)}`;
    throw new CliError(`There is no ${start}<version>.tgz in ${place}. Check --from. Nothing was changed.`);
  };
}

function templatesFolder(): string {
  return fileURLToPath(new URL("templates", packageFolder()));
}

export function templateNames(): readonly string[] {
  return readdirSync(templatesFolder()).toSorted();
}

/** Copies a template into a folder without files of the same names, and names what it made. */
export function copyTemplate(name: string, root: string, versionOf: VersionOf): readonly string[] {
  if (!templateNames().includes(name))
    throw new CliError(`There is no template "${name}". There are: ${templateNames().join(", ")}.`);
  const from = join(templatesFolder(), name);
  const files = globSync("**/*", { cwd: from, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(from, join(entry.parentPath, entry.name)))
    .toSorted();
  const made = files.map((file) => [file, file.replace(/(^|[\\/])_(?=[^\\/]*$)/, "$1.")] as const);
  const taken = made.filter(([, target]) => existsSync(join(root, target))).map(([, target]) => target);
  if (taken.length > 0)
    throw new CliError(
      `${root} has ${taken.join(", ")} already. A template needs a folder of its own: durable init <folder> --template ${name}. Nothing was changed.`,
    );
  const manifest = manifestOf(join(from, "package.json"), root, versionOf);
  for (const [file, target] of made) cpSync(join(from, file), join(root, target));
  writeFileSync(join(root, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return made.map(([, target]) => target);
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(path: string, root: string, versionOf: VersionOf): object {
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Manifest;
  const filled = (all: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      Object.entries(all).map(([name, range]) => [name, range === ours ? versionOf(name) : range]),
    );
  return {
    name: nameOf(root),
    ...manifest,
    dependencies: filled(manifest.dependencies),
    devDependencies: filled(manifest.devDependencies),
  };
}

/** A name for the package in a folder. */
export function nameOf(root: string): string {
  return (
    basename(root)
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, "-")
      .replaceAll(/^-+|-+$/g, "") || "app"
  );
}
