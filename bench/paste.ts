/** `npm run bench:docs -- 2026-11-20`: pastes the tables of a report into docs/comparison.md. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/lib/workspace.ts";
import type { Report } from "./src/report/report.ts";
import { withSection } from "./src/report/section.ts";

const [name] = process.argv.slice(2);
if (name === undefined) {
  console.error("bench: name a report of bench/results, such as 2026-11-20.");
  process.exit(1);
}
const report = JSON.parse(readFileSync(join(root, "bench/results", `${name}.json`), "utf8")) as Report;
const page = join(root, "docs/comparison.md");
writeFileSync(page, withSection(readFileSync(page, "utf8"), report, name));
console.log(`bench: docs/comparison.md shows ${name}`);
