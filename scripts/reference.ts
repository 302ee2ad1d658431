/** Writes the parts of docs/reference that are made from the sources. `npm run docs:check` says when they are stale. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withActions } from "./lib/actions-table.ts";
import { readPages } from "./lib/docs-pages.ts";
import { readReference, referencePages } from "./lib/reference-inputs.ts";
import { render, stale } from "./lib/reference.ts";
import { root } from "./lib/workspace.ts";

const pages = referencePages(readPages(root));
const { api, numbers } = await readReference(join(root, "dist", "reference"));
const { pages: rendered, problems } = render(pages, api, numbers);
for (const { file, line, message } of problems) console.error(`${file}:${line}  ${message}`);
const changed = stale(pages, rendered);
for (const { file } of changed) writeFileSync(join(root, file), rendered.get(file) ?? "");
const security = join(root, "docs", "security.md");
writeFileSync(security, withActions(readFileSync(security, "utf8")));
console.log(`reference: ${rendered.size} pages, ${changed.length} written`);
process.exitCode = problems.length === 0 ? 0 : 1;
