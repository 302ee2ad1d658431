/**
 * The weight of `@durable/core` in a browser-like bundle, minified and gzipped: `import { durable }`; the kernel, which is
 * everything a program needs to start, resume and fork runs; and the whole package with what stands on the kernel.
 * Parts that are loaded at their first use do not count.
 */
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { root } from "./lib/workspace.ts";

/** In bytes, gzipped (docs/decisions/0019, 0024, 0035 and 0040); what is built on the kernel has no limit of its own yet. */
const limits: Readonly<Record<string, number>> = { durable: 49_600, kernel: 51_300 };
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
    splitting: true,
    outdir: root,
    format: "esm",
    platform: "browser",
    target: "es2023",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const loaded = loadedFirst(metafile);
  const texts = outputFiles.filter(({ path }) => loaded.has(basename(path))).map(({ contents }) => contents);
  const bundle = Buffer.concat(texts);
  return {
    gzipped: gzipSync(bundle, { level: 9 }).length,
    minified: bundle.length,
    stowaways: Object.keys(metafile.inputs).filter((path) => /\/(sqlite|folder)\//.test(path)),
  };
}

/** The file of the entry, and those that it imports at once. */
function loadedFirst({ outputs }: Metafile): Set<string> {
  const entry = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === "<stdin>");
  if (entry === undefined) throw new Error("esbuild gave no output");
  const loaded = new Set([entry]);
  for (const path of loaded) {
    const now = outputs[path]?.imports.filter(({ kind }) => kind === "import-statement") ?? [];
    for (const { path: imported } of now) loaded.add(imported);
  }
  return new Set([...loaded].map((path) => basename(path)));
}

const names = Object.keys(await import("@durable/core"));
const kernelNames = names.filter((name) => !onTop.includes(name));
const durable = await weigh('export { durable } from "@durable/core";');
const kernel = await weigh(`export { ${kernelNames.join(", ")} } from "@durable/core";`);
const whole = await weigh('export * from "@durable/core";');
const bytes = (n: number): string => `${n.toLocaleString("en")} B`.padStart(9);

for (const [what, { gzipped, minified }] of Object.entries({ durable, kernel, whole })) {
  console.log(`size: @durable/core ${what.padEnd(7)}  gzip ${bytes(gzipped)}  minified ${bytes(minified)}`);
}
if (whole.stowaways.length > 0) {
  console.error(`size: what needs Node got into the portable bundle through ${whole.stowaways.join(", ")}`);
}
const tooLarge = Object.entries({ durable, kernel }).flatMap(([what, { gzipped }]) => {
  const limit = limits[what] ?? 0;
  return gzipped > limit
    ? [`size: ${what} is ${gzipped - limit} bytes over its limit of ${bytes(limit).trim()} gzip.`]
    : [];
});
for (const problem of tooLarge) console.error(problem);
process.exitCode = whole.stowaways.length > 0 || tooLarge.length > 0 ? 1 : 0;
