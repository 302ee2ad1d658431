/** The JavaScript of a package: one file per public entry. Code that entries share is in chunks. */
import { join } from "node:path";
import { build } from "esbuild";
import { builtFiles, type Package } from "./workspace.ts";

/**
 * Bundles into `dist`, a folder. Names stay readable: these files are what stack traces and debuggers show. `define`
 * gives values to names that the sources only declare.
 */
export async function bundleEntries(
  { dir, manifest }: Package,
  dist: string,
  define: Readonly<Record<string, string>> = {},
): Promise<void> {
  const sources = builtFiles(manifest).map((file) =>
    file.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts"),
  );
  await build({
    absWorkingDir: dir,
    entryPoints: sources.map((source) => join(dir, source)),
    outbase: join(dir, "src"),
    outdir: dist,
    chunkNames: "chunks/[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    packages: "external",
    external: Object.keys(manifest.imports ?? {}),
    define,
    sourcemap: "linked",
    logLevel: "error",
  });
}
