/**
 * Finds habits of language that make user-facing text hard to read: people in place of parts of the program, and
 * second words for words of the glossary.
 *
 * P1. Read are Markdown outside code, and strings and templates with a space in them; comments and names are not.
 * P2. A legitimate use, such as a quotation or the dialogue of a scripted model, is on a list with its reason.
 * P3. An entry of that list that allows nothing is a problem, so that the list stays short.
 */
import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { Problem } from "./docs-pages.ts";
import { proseOf, textsOf } from "./prose-texts.ts";

/** A legitimate use: the file, a part of the line, and why it stays. */
export type Allowed = { readonly file: string; readonly text: string; readonly reason: string };

const habits: readonly (readonly [find: RegExp, instead: string])[] = [
  [/\b(?:whoever|nobody|somebody)\b/gi, "name the part: driver, caller, worker, storage"],
  // "If there is none" is plain English; "a key that is none" is not.
  [/(?<!\bthere\s+)\b(?:is|are)\s+none\b/gi, "say invalid, missing or unknown"],
  [/\btold\s+apart\b/gi, "say distinguished"],
  [/\btold\b(?!\s+apart\b)/gi, "name the part that reports, and what it reports"],
  [/\b(?:a|the)\s+leave\b/gi, "say permission"],
  [/\bin\s+clear\b/gi, "say unencrypted"],
  [/\bsat\s+out\b/gi, "say held in memory"],
  [/\b(?:has|have)(?:\s+not|n't)\b[^.!?;]*?\bany\s+more\b/gi, "say no longer"],
];

const files = [
  "packages/*/src/**/*.ts",
  "examples/*/src/**/*.ts",
  "README*.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "docs/**/*.md",
  "{packages,examples}/*/README.md",
];

/** Every habit in the workspace at `base` that is not allowed, and how many files were read. */
export function checkProse(
  base: string,
  allowed: readonly Allowed[],
): { readonly read: number; readonly problems: readonly Problem[] } {
  const used = new Set<Allowed>();
  const names = globSync(files, { cwd: base }).map((file) => file.split(sep).join("/"));
  const found = names.toSorted().flatMap((file) => {
    const source = readFileSync(join(base, file), "utf8");
    const lines = source.split("\n");
    return habitsIn(file, source).filter(({ line }) => {
      const entry = allowed.find((each) => each.file === file && lines[line - 1]?.includes(each.text));
      if (entry !== undefined) used.add(entry);
      return entry === undefined;
    });
  });
  const idle = allowed.filter((entry) => !used.has(entry));
  const stale = idle.map(({ file, text }) => ({
    file,
    line: 1,
    message: `the allowed "${text}" is not there`,
  }));
  return { read: names.length, problems: [...found, ...stale] };
}

/** The habits in one file. */
export function habitsIn(file: string, source: string): Problem[] {
  const passages = file.endsWith(".md") ? [{ text: proseOf(source), offset: 0 }] : textsOf(source);
  const found = passages.flatMap(({ text, offset }) =>
    habits.flatMap(([find, instead]) =>
      Array.from(text.matchAll(find), ({ 0: words, index }) => ({ words, instead, at: offset + index })),
    ),
  );
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ words, instead, at }) => ({
      file,
      line: source.slice(0, at).split("\n").length,
      message: `"${words.replaceAll(/\s+/g, " ").replaceAll(/~+/g, "...")}": ${instead}`,
    }));
}
