/** For tests: checks that the code in a README is in the sources. */

import { readFileSync } from "node:fs";

/**
 * The first TypeScript block in the README of an example, and one of its source files; both without
 * indentation.
 */
export function codeInReadme(example: string, file: string): { block: string; source: string } {
  const read = (path: string): string =>
    readFileSync(new URL(`../../${example}/${path}`, import.meta.url), "utf8");
  const [, block] = /```ts\n([^]*?)```/.exec(read("README.md")) ?? [];
  if (block === undefined) throw new Error(`The README of ${example} has no TypeScript block.`);
  return { block: flat(block), source: flat(read(`src/${file}`)) };
}

const flat = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
