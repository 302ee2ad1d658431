/** Workers of the tests, as workerd gets them: one module, bundled from the sources, without anything of Node's. */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** `external` names modules that the Worker's runtime has. */
export async function bundle(worker: URL, external: string[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(worker)],
    bundle: true,
    external,
    write: false,
    format: "esm",
    target: "es2023",
    conditions: ["durable-source", "workerd", "worker", "browser"],
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}
