/** For the tests: a README shows code that is there. */

import { readFileSync } from "node:fs";

/** The first block of TypeScript in the README of an example, and a file of its sources; both without indentation. */
export function codeInReadme(example: string, file: string): { block: string; source: string } {
  const read = (path: string): string =>
    readFileSync(new URL(`../../${example}/${path}`, import.meta.url), "utf8");
  const [, block] = /```ts\n([^]*?)```/.exec(read("README.md")) ?? [];
  if (block === undefined) throw new Error(`The README of ${example} shows no code.`);
  return { block: flat(block), source: flat(read(`src/${file}`)) };
}

const flat = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
