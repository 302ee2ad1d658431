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

/** The oldest Node that runs this: `engines` of package.json. */
const oldest = [22, 13] as const;

/** What to say to a Node that is too old, and would fail with a syntax error somewhere; `null` for others. */
export function oldNode(running: string): string | null {
  const [major = 0, minor = 0] = running.split(".").map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return null;
  return `durable: this is Node ${running}. Use ${oldest.join(".")} or newer; from 22.18 on, Node also runs TypeScript.`;
}
