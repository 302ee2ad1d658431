/** Checks that the lock file is complete: every package with binaries has one for each supported platform. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { families, type Lock, lockProblems, platforms } from "./lib/lock.ts";
import { root } from "./lib/workspace.ts";

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
const problems = lockProblems(lock);
for (const { owner, bindings } of families(lock)) {
  const present = platforms.map(({ name }) =>
    (bindings.get(name)?.length ?? 0) > 0 ? name : "-".padEnd(name.length),
  );
  console.log(`${owner.replace(/^node_modules\//, "").padEnd(18)} ${present.join("  ")}`);
}
for (const problem of problems) console.error(`lock: ${problem}`);
console.log(
  problems.length === 0
    ? `lock: ${families(lock).length} packages with binaries, each complete for ${platforms.map(({ name }) => name).join(", ")}`
    : `lock: ${problems.length} problems. Pin versions whose binaries exist for all platforms, and make the lock anew.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
