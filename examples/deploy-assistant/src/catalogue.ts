/** The releases and environments. A plan names entries of these lists: never a path, never a command. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Release {
  readonly version: string;
  readonly notes: string;
}

/** The bundled app's releases, oldest first. */
export function readReleases(bundle: string): Release[] {
  const folder = join(bundle, "releases");
  return readdirSync(folder)
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Release)
    .map(({ version, notes }) => ({ version, notes }))
    .toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }));
}

export const environments = "staging, production, or preview-<name>";

/** The names are also valid folder names. */
export function isEnvironment(name: string): boolean {
  return /^(?:staging|production|preview-[a-z0-9][a-z0-9-]{0,30})$/.test(name);
}
