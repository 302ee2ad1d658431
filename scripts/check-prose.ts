/** Prints every habit of language in user-facing text that lib/prose.ts looks for, as file:line. */
import { allowedProse } from "./lib/prose-allowed.ts";
import { checkProse } from "./lib/prose.ts";
import { root } from "./lib/workspace.ts";

const { read, problems } = checkProse(root, allowedProse);
for (const { file, line, message } of problems) console.error(`${file}:${line}  ${message}`);

console.log(
  problems.length === 0
    ? `prose: ${read} files, no problems`
    : `prose: ${problems.length} problems in ${new Set(problems.map(({ file }) => file)).size} of ${read} files`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
