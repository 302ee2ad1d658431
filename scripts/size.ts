/**
 * The weight of `@durable/core` in one file that a bundler made, minified and gzipped: with `durable`, `createApp` and
 * `RemoteStorage`, which is what a program on a platform without files ships. Nothing is loaded later.
 */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./lib/workspace.ts";

/** In bytes, gzipped (docs/decisions/0052). */
const limit = 109_800;

const { outputFiles, metafile } = await build({
  stdin: {
    contents:
      'export { createApp, durable } from "@durable/core"; export { RemoteStorage } from "@durable/core/remote";',
    resolveDir: root,
  },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: root,
  format: "esm",
  platform: "browser",
  target: "es2023",
  conditions: ["durable-source"],
  logLevel: "error",
});
const [file] = outputFiles;
if (file === undefined) throw new Error("esbuild gave no output");
const gzipped = gzipSync(file.contents, { level: 9 }).length;
const shown = (bytes: number): string => `${bytes.toLocaleString("en")} B`;
console.log(
  `size: @durable/core in one file  gzip ${shown(gzipped)}  minified ${shown(file.contents.length)}`,
);

const stowaways = Object.keys(metafile.inputs).filter((path) => /\/(sqlite|folder|indexeddb)\//.test(path));
if (stowaways.length > 0)
  console.error(`size: what needs one platform got into the portable bundle through ${stowaways.join(", ")}`);
if (gzipped > limit)
  console.error(`size: that is ${shown(gzipped - limit)} over its limit of ${shown(limit)} gzip.`);
process.exitCode = stowaways.length > 0 || gzipped > limit ? 1 : 0;
