/** The JavaScript of a package: one file per public entry, one for what they share, and parts that are loaded later. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { joinChunks } from "./one-chunk.ts";
import { printLines } from "./print-lines.ts";
import { builtFiles, type Package } from "./workspace.ts";

/**
 * Bundles into `dist`, a folder. Names stay as in the sources, and each statement has a line: these files are what stack traces
 * and debuggers show, so they need no source maps, which would weigh more than twice as much. `define` gives values to names
 * that the sources only declare.
 */
export async function bundleEntries(
  { dir, manifest }: Package,
  dist: string,
  define: Readonly<Record<string, string>> = {},
): Promise<void> {
  const sources = builtFiles(manifest).map((file) =>
    file.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts"),
  );
  const external = Object.keys(manifest.imports ?? {});
  const options = { platform: "neutral", target: "es2023", external } as const;
  const { metafile } = await build({
    ...options,
    metafile: true,
    absWorkingDir: dir,
    entryPoints: sources.map((source) => join(dir, source)),
    outbase: join(dir, "src"),
    outdir: dist,
    chunkNames: "chunks/[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    packages: "external",
    define,
    logLevel: "error",
  });
  await joinChunks({ base: dir, dist, entry: "index.js" }, metafile.outputs, options);
  for (const file of globSync("**/*.js", { cwd: dist }).map((name) => join(dist, name)))
    writeFileSync(file, await printLines(readFileSync(file, "utf8")));
}
