/** Writes the three files of a report. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { toMarkdown } from "./markdown.ts";
import type { Report } from "./report.ts";
import { toSvg } from "./svg.ts";

/** Writes `path`.md, .json and .svg, and returns their names. */
export async function writeReport(report: Report, path: string): Promise<string[]> {
  mkdirSync(dirname(path), { recursive: true });
  const files: Record<string, string> = {
    [`${path}.md`]: toMarkdown(report),
    [`${path}.json`]: `${JSON.stringify(report, null, 2)}\n`,
    [`${path}.svg`]: toSvg(report),
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(file, content);
  return Object.keys(files);
}
