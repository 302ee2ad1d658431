/** The version of this package, and files that come with it. */

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the package: above `src`, and above `dist` and its chunks. */
export function packageFolder(): URL {
  for (const up of ["../", "../../"]) {
    const folder = new URL(up, import.meta.url);
    if (existsSync(new URL("package.json", folder))) return folder;
  }
  throw new Error(`No package.json above ${fileURLToPath(import.meta.url)}`);
}

export function version(): string {
  const text = readFileSync(new URL("package.json", packageFolder()), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** The table of errors: bundled by the build, or that of the repository. */
export function errorsPage(): string {
  const folder = packageFolder();
  const bundled = new URL("dist/errors.md", folder);
  return readFileSync(existsSync(bundled) ? bundled : new URL("../../docs/errors.md", folder), "utf8");
}
