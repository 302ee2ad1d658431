/** Everything that must hold before a change goes in, in one command. All stages run, also after a red one. */
import { run } from "./lib/workspace.ts";

const stages = [
  "format:check",
  "lint",
  "boundaries",
  "types",
  "test",
  "build",
  "packages:check",
  "exports:check",
  "docs:check",
  "size",
];

const failed: string[] = [];
for (const stage of stages) {
  const startedAt = performance.now();
  const ok = run("npm", ["run", "--silent", stage]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`== ${stage.padEnd(14)} ${ok ? "ok" : "FAILED"} (${seconds} s)\n`);
  if (!ok) failed.push(stage);
}

console.log(
  failed.length === 0
    ? `verify: all ${stages.length} stages passed`
    : `verify: ${failed.length} of ${stages.length} stages failed: ${failed.join(", ")}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
