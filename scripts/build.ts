/** Builds every package with plain tsc into its `dist`, dependencies first. */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildOrder, listPackages, type Package, run } from "./lib/workspace.ts";

const packages = buildOrder(listPackages());
const failed = packages.find((entry) => !build(entry));

console.log(failed ? `build: ${failed.manifest.name} failed` : `build: ${packages.length} packages`);
process.exitCode = failed ? 1 : 0;

function build({ dir }: Package): boolean {
  const dist = join(dir, "dist");
  rmSync(dist, { recursive: true, force: true });
  if (!run("tsc", ["-p", join(dir, "tsconfig.build.json")])) return false;
  pointDeclarationsAtJs(dist);
  return true;
}

/** tsc rewrites ".ts" specifiers in JavaScript only; older compilers refuse them in declarations. */
function pointDeclarationsAtJs(dist: string): void {
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/((?:from |import\(|import )"\.[^"\n]*)\.ts"/g, '$1.js"'));
  }
}
