/** Checks types: everything with Node's types, then what must run anywhere without them. */
import { run } from "./lib/workspace.ts";

const projects = [
  "tsconfig.json",
  "packages/core/tsconfig.json",
  "packages/http/tsconfig.json",
  "packages/ai-sdk/tsconfig.json",
];
const failed = projects.filter((project) => !run("tsc", ["-p", project]));

console.log(failed.length === 0 ? "types: no errors" : `types: errors in ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
