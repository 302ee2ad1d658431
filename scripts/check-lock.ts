/** Checks that the lock files of the workspace and of the site are complete: every package with binaries has one for each supported platform. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { families, type Lock, lockProblems, platforms } from "./lib/lock.ts";
import { root } from "./lib/workspace.ts";

let problems = 0;
for (const path of ["package-lock.json", "site/package-lock.json"]) {
  const lock = JSON.parse(readFileSync(join(root, path), "utf8")) as Lock;
  for (const { owner, bindings } of families(lock)) {
    const present = platforms.map(({ name }) =>
      (bindings.get(name)?.length ?? 0) > 0 ? name : "-".padEnd(name.length),
    );
    console.log(`${owner.replace(/^node_modules\//, "").padEnd(18)} ${present.join("  ")}`);
  }
  const found = lockProblems(lock);
  for (const problem of found) console.error(`${path}: ${problem}`);
  problems += found.length;
  console.log(
    found.length === 0
      ? `lock: ${path}: ${families(lock).length} packages with binaries, each complete for ${platforms.map(({ name }) => name).join(", ")}`
      : `lock: ${path}: ${found.length} problems. Pin versions whose binaries exist for all platforms, and make the lock anew.`,
  );
}
process.exitCode = problems === 0 ? 0 : 1;
