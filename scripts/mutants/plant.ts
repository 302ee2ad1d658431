/**
 * Puts patches in place of what is imported from now on; nothing on disk changes.
 * With --import, they come from the environment: so even packages that a test runner leaves to Node are reached.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { coreSources, patched, type Patch } from "./patch.ts";

/** The path of a module below the sources of core; of any other, something no patch names. */
export function coreFile(path: string): string {
  return relative(coreSources, path).split(sep).join("/");
}

export function plant(patches: readonly Patch[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const files = new Set(patches.map(({ file }) => file));
  registerHooks({
    load(url, context, nextLoad) {
      const path = url.startsWith("file:") ? fileURLToPath(url) : "";
      const file = coreFile(path);
      if (!files.has(file)) return nextLoad(url, context);
      loaded.add(file);
      const source = patched(file, readFileSync(path, "utf8"), patches);
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
  return loaded;
}

/** What `unit.ts` was asked to plant. */
export const given = JSON.parse(process.env["MUTANT_PATCHES"] ?? "[]") as readonly Patch[];
if (given.length > 0) plant(given);
