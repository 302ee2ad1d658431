/** For bugs that no simulation can catch: runs test files with the bug in place. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../lib/workspace.ts";
import type { Found } from "./hunt.ts";
import type { Patch } from "./patch.ts";

const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

/** A bug may keep a test from ending, also in code that no timer interrupts. */
const mostMs = 90_000;

/** The bug is caught if a test of these files fails, or does not end; the first failure counts. */
export async function tryTests(patches: readonly Patch[], files: readonly string[]): Promise<Found> {
  const start = performance.now();
  const { code, text } = await output([vitest, "run", "--config", config, ...files], {
    ...process.env,
    MUTANT_PATCHES: JSON.stringify(patches),
    NO_COLOR: "1",
  });
  const tookMs = performance.now() - start;
  if (code === 0) return { kind: "survived", tried: files.length, tookMs };
  const caught = { kind: "caught", seed: 0, tried: files.length, tookMs } as const;
  if (code === null) return { ...caught, by: "hang", what: "The tests did not end." };
  // A rejection that nobody handles fails the run of the file, and no test of it.
  const failed = (/^ FAIL {2}(.+)$/m.exec(text) ??
    /This error originated in "(.+?)" test file/.exec(text))?.[1];
  if (failed === undefined) return { kind: "unfit", what: text, tookMs };
  return { ...caught, by: /([\w-]+\.test\.ts)/.exec(failed)?.[1] ?? "a test", what: failed };
}

/** What a process printed, and its exit code; `null` if it was killed, with all its own processes, because it took too long. */
function output(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(process.execPath, args, { cwd: root, env, detached: true });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => void (text += String(chunk)));
  const timer = setTimeout(() => process.kill(-(child.pid as number), "SIGKILL"), mostMs);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, text });
    });
  });
}
