/** For bugs that no simulation can catch: runs test files with the bug in place. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../lib/workspace.ts";
import type { Found } from "./hunt.ts";
import type { Patch } from "./patch.ts";

const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

/** The bug is caught if a test of these files fails; the first failure counts. */
export function tryTests(patches: readonly Patch[], files: readonly string[]): Promise<Found> {
  const start = performance.now();
  return new Promise((resolve) => {
    const env = { ...process.env, MUTANT_PATCHES: JSON.stringify(patches), NO_COLOR: "1" };
    const args = [vitest, "run", "--config", config, ...files];
    execFile(process.execPath, args, { cwd: root, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const tookMs = performance.now() - start;
      if (error === null) return resolve({ kind: "survived", tried: files.length, tookMs });
      const failed = /^ FAIL {2}(.+)$/m.exec(stdout + stderr)?.[1];
      if (failed === undefined) return resolve({ kind: "unfit", what: stderr || stdout, tookMs });
      const by = /([\w-]+\.test\.ts)/.exec(failed)?.[1] ?? "a test";
      resolve({ kind: "caught", by, what: failed, seed: 0, tried: files.length, tookMs });
    });
  });
}
