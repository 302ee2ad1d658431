/** The files that `import "@durable/core"` loads, from a build in a folder of its own: tests run before the packages are built. */

import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleEntries } from "../bundle.ts";
import { capture, listPackages } from "../workspace.ts";
import type { Counts } from "./meters.ts";

/** Counts files, bytes and modules of Node that are loaded. */
export async function importWeight(): Promise<Counts> {
  const core = listPackages().find(({ manifest }) => manifest.name === "@durable/core");
  if (core === undefined) throw new Error("There is no package @durable/core.");
  const folder = mkdtempSync(join(tmpdir(), "durable-weight-"));
  try {
    await bundleEntries(core, join(folder, "dist"));
    copyFileSync(join(core.dir, "package.json"), join(folder, "package.json"));
    const script = join(folder, "weigh.mjs");
    writeFileSync(script, weigh(pathToFileURL(join(folder, "dist", "index.js")).href));
    const { ok, stdout, said } = capture("node", ["--no-warnings", script]);
    if (!ok) throw new Error(`The import could not be weighed: ${said}`);
    return JSON.parse(stdout) as Counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const weigh = (entry: string): string => `
import { registerHooks } from "node:module";
const counts = { files: 0, bytes: 0, builtins: 0 };
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url.startsWith("node:")) counts.builtins += 1;
    else {
      counts.files += 1;
      counts.bytes += loaded.source?.length ?? 0;
    }
    return loaded;
  },
});
await import(${JSON.stringify(entry)});
console.log(JSON.stringify(counts));
`;
