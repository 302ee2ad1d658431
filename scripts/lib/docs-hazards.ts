/**
 * The table of hazards and the tests that show them agree.
 *
 * D7. docs/internals/hazards.md has one row for every hazard from 1 to 61, and for every other one that a test title cites.
 * D8. A test file that a row links to has a title that cites the row's number.
 * D9. Its known faults, rows that begin with `H19`, are the tests that are expected to fail, and no others.
 */
import { globSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import type { Pages, Problem } from "./docs-pages.ts";

const page = "docs/internals/hazards.md";
/** Hazards up to here are of what core does by itself; each has its row, tested or not. */
const lastOfCore = 61;

const suites = ["{packages,examples}/*/test/**/*.test.ts", "{runtimes,scripts}/test/**/*.test.ts"];
/** The suite that storages run keeps its titles as keys of objects. */
const conformance = "packages/testing/src/conformance/*.ts";

const title = /(?:\b(?:test|it|describe)(?:\.\w+)*|\))\s*\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
const failing = /\b(?:test|it)\.fails\s*\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
const key = /^\s*(")((?:\\.|[^"\\])*)"\s*:/gm;

export function checkHazards(base: string, pages: Pages): Problem[] {
  const source = pages.get(page)?.source;
  if (source === undefined) return [];
  const rows = rowsOf(source, /^\|\s*(\d+)\s*\|/);
  const cited = citations(base, title);
  const known = new Map<number, number>();
  const problems: Problem[] = [];
  for (const { number, line, files } of rows) {
    const say = (message: string): void => void problems.push({ file: page, line, message });
    if (known.has(number)) say(`H${number} has a row on line ${known.get(number)} already`);
    known.set(number, line);
    for (const file of files) {
      if (cited.get(file)?.has(number) !== true) say(`no test title in ${file} cites H${number}`);
    }
  }
  for (const [file, numbers] of cited) {
    for (const number of numbers)
      if (!known.has(number))
        problems.push({ file: page, line: 1, message: `${file} cites H${number}, which has no row` });
  }
  for (let number = 1; number <= lastOfCore; number++)
    if (!known.has(number)) problems.push({ file: page, line: 1, message: `H${number} has no row` });
  return [...problems, ...faultProblems(base, source)];
}

function faultProblems(base: string, source: string): Problem[] {
  const expected = citations(base, failing);
  const listed = new Map<string, Set<number>>();
  const problems: Problem[] = [];
  for (const { number, line, files } of rowsOf(source, /^\|\s*H(\d+)\b/)) {
    for (const file of files) {
      listed.set(file, (listed.get(file) ?? new Set()).add(number));
      if (expected.get(file)?.has(number) !== true)
        problems.push({
          file: page,
          line,
          message: `no test in ${file} is expected to fail for H${number} (any more)`,
        });
    }
  }
  for (const [file, numbers] of expected) {
    for (const number of numbers) {
      if (listed.get(file)?.has(number) !== true)
        problems.push({
          file: page,
          line: 1,
          message: `${file} expects a test of H${number} to fail, and no row says why`,
        });
    }
  }
  return problems;
}

interface Row {
  readonly number: number;
  readonly line: number;
  /** Test files it links to, from the root of the repository. */
  readonly files: readonly string[];
}

function rowsOf(source: string, pattern: RegExp): Row[] {
  return source.split("\n").flatMap((text, index) => {
    const number = pattern.exec(text)?.[1];
    if (number === undefined) return [];
    const links = [...text.matchAll(/\]\(([^)#\s]+\.ts)\)/g)].map(([, target = ""]) =>
      posix.normalize(posix.join(posix.dirname(page), target)),
    );
    return [{ number: Number(number), line: index + 1, files: links }];
  });
}

/** Which hazards the titles of which test files cite. */
function citations(base: string, titles: RegExp): Map<string, Set<number>> {
  // A fault's title may cite others besides; the first is the one it is about.
  const most = titles === failing ? 1 : undefined;
  const read = (patterns: string | string[], pattern: RegExp): [string, Set<number>][] =>
    globSync(patterns, { cwd: base, exclude: (name) => /node_modules|dist/.test(String(name)) }).map(
      (file) => {
        const found = [...readFileSync(join(base, file), "utf8").matchAll(pattern)].map(
          ([, , text = ""]) => text,
        );
        return [file.split(sep).join("/"), new Set(found.flatMap((text) => numbersIn(text).slice(0, most)))];
      },
    );
  return new Map([...read(suites, titles), ...read(conformance, titles === title ? key : titles)]);
}

function numbersIn(text: string): number[] {
  return [...text.matchAll(/\bH(\d{1,2})\b/g)].map(([, number]) => Number(number));
}
