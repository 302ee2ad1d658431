/** The weight of `@durable/core` in a browser-like bundle: everything exported, minified, gzipped. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./lib/workspace.ts";

const limit = 25_000;

const { outputFiles, metafile } = await build({
  stdin: { contents: 'export * from "@durable/core";', resolveDir: root },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "esm",
  platform: "browser",
  target: "es2023",
  conditions: ["source"],
  logLevel: "error",
});

const [bundle] = outputFiles;
if (!bundle) throw new Error("esbuild gave no output");
const gzipped = gzipSync(bundle.contents, { level: 9 }).length;
const stowaways = Object.keys(metafile.inputs).filter((path) => path.includes("/sqlite/"));
const bytes = (n: number): string => `${n.toLocaleString("en")} B`.padStart(9);

console.log(
  `size: @durable/core  gzip ${bytes(gzipped)}  minified ${bytes(bundle.contents.length)}  limit ${bytes(limit)} gzip`,
);
if (stowaways.length > 0) {
  console.error(`size: sqlite got into the portable bundle through ${stowaways.join(", ")}`);
}
if (gzipped > limit) {
  console.error(`size: ${gzipped - limit} bytes over the limit. Make core smaller; do not raise the limit.`);
}
process.exitCode = stowaways.length > 0 || gzipped > limit ? 1 : 0;
