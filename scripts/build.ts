/**
 * Builds every package into its `dist`, dependencies first: declarations by tsc, one file of JavaScript per public entry
 * by esbuild. Code that entries share is in one chunk. Each file that Node opens costs about a millisecond of an import.
 */
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Page from "../packages/dashboard/page/bundle.ts";
import { bundleEntries } from "./lib/bundle.ts";
import { joinDeclarations } from "./lib/declarations.ts";
import { buildOrder, declarationFiles, listPackages, type Package, root, run } from "./lib/workspace.ts";

const packages = buildOrder(listPackages());
let failed: Package | undefined;
for (const entry of packages) failed ??= (await build(entry)) ? undefined : entry;

console.log(failed ? `build: ${failed.manifest.name} failed` : `build: ${packages.length} packages`);
process.exitCode = failed ? 1 : 0;

async function build(entry: Package): Promise<boolean> {
  const dist = join(entry.dir, "dist");
  rmSync(dist, { recursive: true, force: true });
  if (!run("tsc", ["-p", join(entry.dir, "tsconfig.build.json")])) return false;
  joinDeclarations(
    dist,
    declarationFiles(entry.manifest).map((file) => file.replace("./dist/", "")),
  );
  await bundleEntries(entry, dist, await pageOf(entry));
  // `durable explain` reads the table of errors without a network.
  if (entry.manifest.name === "@durable/cli")
    copyFileSync(join(root, "docs", "errors.md"), join(dist, "errors.md"));
  return true;
}

/** A package with a page gets its files as constants, minified: nothing is bundled or fetched when it is used. */
async function pageOf({ dir }: Package): Promise<Record<string, string>> {
  const bundler = join(dir, "page", "bundle.ts");
  if (!existsSync(bundler)) return {};
  const { bundle } = (await import(pathToFileURL(bundler).href)) as typeof Page;
  const { script, style } = await bundle({ sources: false });
  return { DASHBOARD_SCRIPT: JSON.stringify(script), DASHBOARD_STYLE: JSON.stringify(style) };
}
