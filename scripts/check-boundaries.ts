/** Prints every import or file size that breaks the rules in lib/boundaries.ts, as file:line. */
import { checkBoundaries } from "./lib/boundaries.ts";
import { listPackages, root } from "./lib/workspace.ts";

const problems = checkBoundaries(root);
for (const { file, line, message } of problems) console.error(`${file}:${line}  ${message}`);

const checked = `${listPackages().length} packages`;
console.log(
  problems.length === 0 ? `boundaries: ${checked}, no problems` : `boundaries: ${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
