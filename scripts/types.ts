/** Checks types: everything with Node's types, then what must run anywhere, or in a browser, without them. */
import { run } from "./lib/workspace.ts";

const portable = ["core", "http", "ai-sdk", "s3", "cloudflare", "otel"];
const projects = [
  "tsconfig.json",
  ...portable.map((name) => `packages/${name}/tsconfig.json`),
  "examples/chat/page/tsconfig.json",
  "packages/dashboard/tsconfig.json",
  "packages/dashboard/page/tsconfig.json",
];
const failed = projects.filter((project) => !run("tsc", ["-p", project]));

console.log(failed.length === 0 ? "types: no errors" : `types: errors in ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
