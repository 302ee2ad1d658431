/** The Worker of an example as one module, bundled from the sources, so that nothing needs to be built first. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { readConfig } from "./emulator-config.ts";

/** The folder with all examples. */
export const examples: string = fileURLToPath(new URL("../..", import.meta.url));

export interface WorkerBundle {
  readonly script: string;
  /** Modules of the platform that it imports, such as `node:fs`. */
  readonly imports: readonly string[];
}

export async function bundleWorker(example: string, { minify = false } = {}): Promise<WorkerBundle> {
  const folder = join(examples, example);
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, readConfig(folder).main)],
    bundle: true,
    minify,
    write: false,
    metafile: true,
    outfile: "worker.js",
    format: "esm",
    target: "es2023",
    conditions: ["durable-source", "workerd", "worker", "browser"],
    // Listed in `imports` instead of refused here.
    external: ["node:*", "cloudflare:*"],
    logLevel: "error",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return { script: outputFiles[0]?.text ?? "", imports };
}
