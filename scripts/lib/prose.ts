/**
 * Finds habits of language that make text hard to read: people in place of parts of the program, second words for
 * words of the glossary, and sentences whose subject is a riddle.
 *
 * P1. Texts for users are Markdown outside code, and strings and templates with a space in them. Names are not read.
 * P2. A legitimate use, such as a quotation or the dialogue of a scripted model, is on a list with its reason.
 * P3. An entry of that list that allows nothing is a problem, so that the list stays short.
 * P4. The comments of the sources of packages have habits of their own. Code spans in them are not read.
 */
import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { Problem } from "./docs-pages.ts";
import { commentsOf, proseOf, textsOf, type Passage } from "./prose-texts.ts";

/** A legitimate use: the file, a part of the line, and why it stays. */
export type Allowed = { readonly file: string; readonly text: string; readonly reason: string };

type Habits = readonly (readonly [find: RegExp, instead: string])[];

const textHabits: Habits = [
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

const nameSubject = "begin with a noun that names the subject";

const commentHabits: Habits = [
  // A comment may be a caption: "What a fork reads." After another sentence, "What" is the subject of a sentence.
  [/(?<=[.:!?]["')]?\s+(?:-\s+)?)What\b(?![^.]*\?)/g, nameSubject],
  // "What was dropped is removed." A subordinate clause ends the search, because its verb is not the main one.
  [
    /(?<=^\s*)What\s+(?:is|are|was|were|has|comes|came|still|began|loses|cannot)\s+(?:(?!(?:that|which|who|whose|when|while|where|if|as|after|before|and|or|to)\b)[^\s.:;,]+\s+)*?(?:is|are|was|were|has|have|can|may|must|counts?|gets?|goes|belongs?)\b/g,
    nameSubject,
  ],
  // "What a hook returns is not awaited."
  [
    /(?<=^\s*)What\s+(?:(?:an?|the|this|such)\s+\S+|it|they)\s+(?:has\s+)?(?!(?:is|are|was|were|has|have|can|may|must|that|which|who)\b)[a-z]+(?:\s+(?:at|for|from|to|of|back|with))?(?:\s+(?:is|are|was|were|has|have|can|may|must)\b|,\s+the\b)/g,
    nameSubject,
  ],
  [/(?<=^\s*|[.:!?]["')]?\s+(?:-\s+)?)Those\s+(?:that|which|who|whose|of)\b/g, nameSubject],
  // "There is no driver" is plain English; "it is no driver" is not.
  [
    /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\s+(?!(?:longer|more|less|later|earlier|better|worse)\b)\S+/gi,
    "say is not a, or name what it is",
  ],
  // Plain English are "look up", "look for", and an appearance: "looks like", "looks wrong".
  [
    /\blook(?:s|ed|ing)?\b(?!-|\s+(?:up|for|like|alike|(?:it|them)\s+up|equal|wrong|open|private|early)\b)/gi,
    "say poll, check or read",
  ],
  [/\b(?:the|an?|each|next|last|first)\s+look\b(?=\s+(?:up|for|like)\b)/gi, "say poll, check or read"],
  // Plain English are "so long ago", "so long as" and "only so many".
  [
    /(?<!\bonly\s+)\bso\s+(?:long|many)\b(?!\s+(?:ago|as)\b)/gi,
    "say this time, this many, or give the number",
  ],
  [/\bin\s+(?:its|their)\s+turn\b/gi, "say in order, or who waits for what"],
  [/\b(?:is|are|was|were)\s+at\s+it\b/gi, "name the part and what it does"],
  [/\b(?:next|last)\s+\S+\s+tells\b/gi, "say shows"],
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
  const texts = file.endsWith(".md") ? [{ text: proseOf(source), offset: 0 }] : textsOf(source);
  const comments = /^packages\/[^/]+\/src\/.*\.ts$/.test(file) ? commentsOf(source) : [];
  const found = [...among(textHabits, texts), ...among(commentHabits, comments)];
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ words, instead, at }) => ({
      file,
      line: source.slice(0, at).split("\n").length,
      message: `"${words.replaceAll(/\s+/g, " ").replaceAll(/~+/g, "...")}": ${instead}`,
    }));
}

function among(habits: Habits, passages: readonly Passage[]) {
  return passages.flatMap(({ text, offset }) =>
    habits.flatMap(([find, instead]) =>
      Array.from(text.matchAll(find), ({ 0: words, index }) => ({ words, instead, at: offset + index })),
    ),
  );
}
