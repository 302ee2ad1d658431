/**
 * The weight of `@durable/core` in a browser-like bundle, minified and gzipped: the kernel, which is everything
 * a program needs to start, resume and fork runs, and the whole package with what stands on the kernel.
 */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./lib/workspace.ts";

/** For the kernel (docs/decisions/0019, 0024 and 0035); what is built on it has no limit of its own yet. */
const limit = 44.5 * 1024;
/** Exports that stand on the kernel and are left out of it. */
const onTop = [
  "createWorker",
  "Journal",
  "diff",
  "lineage",
  "spendOf",
  "MemoryStorage",
  "conflict",
  "copyRuns",
  "secret",
  "RemoteStorage",
  "MemoryBucket",
];

async function weigh(contents: string): Promise<{ gzipped: number; minified: number; stowaways: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const [bundle] = outputFiles;
  if (!bundle) throw new Error("esbuild gave no output");
  return {
    gzipped: gzipSync(bundle.contents, { level: 9 }).length,
    minified: bundle.contents.length,
    stowaways: Object.keys(metafile.inputs).filter((path) => /\/(sqlite|folder)\//.test(path)),
  };
}

const names = Object.keys(await import("@durable/core"));
const kernelNames = names.filter((name) => !onTop.includes(name));
const kernel = await weigh(`export { ${kernelNames.join(", ")} } from "@durable/core";`);
const whole = await weigh('export * from "@durable/core";');
const bytes = (n: number): string => `${n.toLocaleString("en")} B`.padStart(9);

for (const [what, { gzipped, minified }] of Object.entries({ kernel, whole })) {
  console.log(`size: @durable/core ${what.padEnd(6)}  gzip ${bytes(gzipped)}  minified ${bytes(minified)}`);
}
if (whole.stowaways.length > 0) {
  console.error(`size: what needs Node got into the portable bundle through ${whole.stowaways.join(", ")}`);
}
if (kernel.gzipped > limit) {
  console.error(
    `size: the kernel is ${kernel.gzipped - limit} bytes over its limit of ${bytes(limit).trim()} gzip.`,
  );
}
process.exitCode = whole.stowaways.length > 0 || kernel.gzipped > limit ? 1 : 0;
