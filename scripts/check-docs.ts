/** Checks the documentation: links, anchors, scripts, error codes, hazards, install lines, length, the reference, and that its code compiles and runs. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { checkBlocks } from "./lib/docs-blocks.ts";
import { checkHazards } from "./lib/docs-hazards.ts";
import { checkInstalls } from "./lib/docs-installs.ts";
import { checkPages, readPages } from "./lib/docs-pages.ts";
import { checkReference } from "./lib/reference-inputs.ts";
import { root } from "./lib/workspace.ts";

// Ignored by git, and not under node_modules, where Node strips no types.
const folder = join(root, "dist", "docs");

const pages = readPages(root);
const { problems, ran } = await checkBlocks(pages, folder);
const reference = await checkReference(pages, join(root, "dist", "reference"));
const all = [
  ...checkPages(root, pages),
  ...checkHazards(root, pages),
  ...checkInstalls(pages),
  ...reference,
  ...problems,
];
const sorted = all.toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
for (const { file, line, message } of sorted) console.error(`${file}:${line}  ${message}`);

const count = (pick: "links" | "blocks"): number =>
  [...pages.values()].reduce((sum, page) => sum + page[pick].length, 0);
const checked = `${pages.size} pages, ${count("links")} links, ${count("blocks")} blocks (${ran} run)`;
console.log(`docs: ${checked}, ${all.length === 0 ? "no problems" : `${all.length} problems`}`);
if (all.length === 0) rmSync(folder, { recursive: true });
process.exitCode = all.length === 0 ? 0 : 1;
