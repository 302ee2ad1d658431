/**
 * What a published package must have, beyond the checks of publint.
 *
 * P1. The manifest says what it is, where it comes from and which Node it needs.
 * P2. The tarball contains licence and README.
 * P3. No link of the README leads to a file that is not in the tarball.
 */
import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { deadLinks } from "./package-readme.ts";
import type { Manifest } from "./workspace.ts";

const fields = [
  "description",
  "keywords",
  "homepage",
  "bugs",
  "license",
  "repository",
  "engines",
] as const satisfies readonly (keyof Manifest)[];

const requiredFiles = ["LICENSE", "README.md"];

/** Problems of a package whose tarball was unpacked into `dir`; `place` is its folder in the repository. */
export function packageProblems(dir: string, place: string): string[] {
  const files = new Set(globSync("**/*", { cwd: dir }).map((file) => file.split(sep).join("/")));
  const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as Manifest;
  const found = manifest.repository?.directory;
  return [
    ...fields.filter((field) => isEmpty(manifest[field])).map((field) => `package.json has no "${field}"`),
    ...(found === undefined || found === place ? [] : [`repository.directory is ${found}, not ${place}`]),
    ...requiredFiles.filter((file) => !files.has(file)).map((file) => `the tarball has no ${file}`),
    ...(files.has("README.md") ? deadLinks(readFileSync(join(dir, "README.md"), "utf8"), files) : []),
  ];
}

function isEmpty(value: unknown): boolean {
  return value === undefined || Object.keys(Object(value)).length === 0;
}
