/** Where npm has put the programs of other runtimes. Each comes whole in a package for one platform: no script of theirs has to run. */

import { createRequire } from "node:module";
import { arch, platform } from "node:process";

const { resolve } = createRequire(import.meta.url);

/** `null` where there is no package for this platform, or it was not installed. */
function find(name: string): string | null {
  try {
    return resolve(name);
  } catch {
    return null;
  }
}

const windows = platform === "win32";
const suffix = windows ? ".exe" : "";

export const bun = find(
  `@oven/bun-${windows ? "windows" : platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun${suffix}`,
);
export const deno = find(`@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}/deno${suffix}`);
