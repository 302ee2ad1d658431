/** What an npm install of a package brings: packages and bytes, from the folders that are installed. */

import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Weight {
  readonly packages: number;
  readonly bytes: number;
}

interface Manifest {
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The package and everything it depends on, each once; `null` when it is not installed. */
export function weightOf(name: string, from: string = import.meta.url): Weight | null {
  const seen = new Map<string, number>();
  if (!add(name, from, seen)) return null;
  return { packages: seen.size, bytes: [...seen.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

function add(name: string, from: string, seen: Map<string, number>): boolean {
  const file = manifestOf(name, from);
  if (file === undefined) return false;
  const folder = realpathSync(dirname(file));
  if (seen.has(folder)) return true;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
  // A package of this workspace has sources and tests, which are not published.
  const parts = folder.includes("node_modules")
    ? [folder]
    : (manifest.files ?? []).map((each) => join(folder, each));
  seen.set(
    folder,
    parts.reduce((sum, part) => sum + bytesIn(part), 0),
  );
  const { dependencies, peerDependencies, peerDependenciesMeta = {}, optionalDependencies } = manifest;
  const needed = Object.keys(peerDependencies ?? {}).filter(
    (peer) => peerDependenciesMeta[peer]?.optional !== true,
  );
  for (const each of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...needed])
    add(each, pathToFileURL(join(folder, "package.json")).href, seen);
  return true;
}

function manifestOf(name: string, from: string): string | undefined {
  try {
    return findPackageJSON(name, from);
  } catch {
    return undefined;
  }
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && !file.parentPath.slice(folder.length).includes("node_modules"))
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}
