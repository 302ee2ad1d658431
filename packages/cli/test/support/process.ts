/** Programs of the tests in processes of their own, on the sources. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const bin = fileURLToPath(new URL("../../src/bin.ts", import.meta.url));
export const nodeArgs = ["--conditions=durable-source", "--disable-warning=ExperimentalWarning"];

export function start(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): ChildProcess {
  return spawn(process.execPath, [...nodeArgs, program, ...args], {
    cwd: options.cwd,
    env: {
      ...process.env,
      NO_COLOR: undefined,
      FORCE_COLOR: undefined,
      LANG: "C.UTF-8",
      ...options.env,
    },
  });
}

/** Runs to the end. */
export async function finish(
  child: ChildProcess,
): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (part: Buffer) => (out += part.toString()));
  child.stderr?.on("data", (part: Buffer) => (err += part.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
}

/** Resolves when one of the outputs contains a text. */
export async function says(child: ChildProcess, text: string): Promise<string> {
  let said = "";
  return new Promise((resolve, reject) => {
    const hear = (part: Buffer): void => {
      said += part.toString();
      if (said.includes(text)) resolve(said);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("close", () => reject(new Error(`It ended without saying "${text}": ${said}`)));
  });
}
