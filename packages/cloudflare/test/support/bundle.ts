/** Workers of the tests, as workerd gets them: one module, bundled from the sources, without anything of Node's. */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const programs = {
  "bucket-worker.ts": new URL("./bucket-worker.ts", import.meta.url),
  "barrier-worker.ts": new URL("./barrier-worker.ts", import.meta.url),
  "run-worker.ts": new URL("./run-worker.ts", import.meta.url),
};

export async function bundle(program: keyof typeof programs): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(programs[program])],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2023",
    conditions: ["source", "workerd", "worker", "browser"],
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}
