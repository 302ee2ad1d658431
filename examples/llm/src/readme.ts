/** For tests: the code of a README is in the sources, and its commands do and print what it says. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

function read(example: string, path = "README.md"): string {
  return readFileSync(new URL(`../../${example}/${path}`, import.meta.url), "utf8");
}

/**
 * The first TypeScript block in the README of an example, and one of its source files; both without
 * indentation.
 */
export function codeInReadme(example: string, file: string): { block: string; source: string } {
  const [, block] = /```ts\n([^]*?)```/.exec(read(example)) ?? [];
  if (block === undefined) throw new Error(`The README of ${example} has no TypeScript block.`);
  return { block: flat(block), source: flat(read(example, `src/${file}`)) };
}

/** The shell scripts in the README of an example. */
export function scriptsInReadme(example: string): string[] {
  return [...read(example).matchAll(/```sh\n([^]*?)```/g)].map(([, script = ""]) => script);
}

/** The commands on the page of an example, in its order: indented ones, and those of tables and sentences. */
export function commandsInReadme(example: string): string[] {
  const page = read(example).replaceAll(/^```\w*\n[^]*?^```/gm, "");
  const found = page.matchAll(
    /^ {4}((?:npm|npx|node|curl|[A-Z_]+=).*)$|`((?:npm run|npx|node|curl) [^`]+)`/gm,
  );
  return [...new Set([...found].map(([, indented, inline]) => indented ?? inline ?? ""))];
}

/** What a demo prints, as the page shows it: the lines of its text blocks, without those that say that some are left out. */
export function outputInReadme(example: string): string[] {
  const blocks = [...read(example).matchAll(/^```text\n([^]*?)^```/gm)].map(([, text = ""]) => text);
  return blocks
    .join("")
    .split("\n")
    .filter((line) => !/^[\s|]*(?:\.\.\.)?\s*$/.test(line));
}

/** Runs a script, with other texts in place of those of the page, such as the port. Returns what it prints. */
export async function runScript(script: string, texts: Readonly<Record<string, string>>): Promise<string> {
  const text = Object.entries(texts).reduce((all, [from, to]) => all.replaceAll(from, to), script);
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", text]);
  return stdout;
}

const flat = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
