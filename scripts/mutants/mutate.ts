/**
 * Small random changes of a source: what a slip of the keyboard or of the mind would leave behind.
 * Works on text, with comments, strings, templates and regular expressions masked: no parser is at hand.
 */
import { stripTypeScriptTypes } from "node:module";
import type { Random } from "../../packages/testing/src/random.ts";
import { readSource, type Patch } from "./patch.ts";

export interface Mutant extends Patch {
  /** `engine/outbox.ts:84 swap && and ||`. */
  readonly name: string;
  /** The line as it was and as it is. */
  readonly before: string;
  readonly after: string;
}

interface Edit {
  readonly what: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const blank = (text: string): string => text.replace(/[^\n]/g, " ");

/** The source with everything that is not code blanked out, character for character. */
export function mask(source: string): string {
  // A regular expression can only stand where a value is due.
  return source
    .replace(
      /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|[^`\\])*`/g,
      blank,
    )
    .replace(/(?<=[(=,:?&|!]\s*)\/(?:\\.|\[[^\]\n]*\]|[^/\\\n])+\/[a-z]*/g, blank);
}

const swaps: readonly (readonly [what: string, find: RegExp, replace: string])[] = [
  ["swap && for ||", / && /g, " || "],
  ["swap || for &&", / \|\| /g, " && "],
  ["=== becomes !==", / === /g, " !== "],
  ["!== becomes ===", / !== /g, " === "],
  ["< becomes <=", / < /g, " <= "],
  ["<= becomes <", / <= /g, " < "],
  ["> becomes >=", / > /g, " >= "],
  [">= becomes >", / >= /g, " > "],
  ["remove await", /\bawait /g, ""],
  ["0 becomes 1", /(?<![\w.])0(?![\w.])/g, "1"],
  ["1 becomes 0", /(?<![\w.])1(?![\w.])/g, "0"],
  ["true becomes false", /\btrue\b/g, "false"],
  ["false becomes true", /\bfalse\b/g, "true"],
  // A statement that is a call and stands on one line.
  ["remove a call", /(?<=\n)[ ]+(?:await |void )?(?:this|[a-z]\w*)[\w.#?]*\([^\n]*\);(?=\n)/g, ""],
  ["return early", /(?<=\): (?:void|Promise<void>) \{\n)/g, "return;\n"],
];

function swapEdits(code: string): Edit[] {
  return swaps.flatMap(([what, find, text]) =>
    Array.from(code.matchAll(find), ({ index, 0: found }) => ({
      what,
      from: index,
      to: index + found.length,
      text,
    })),
  );
}

/** The end of what the bracket at `at` opens. */
function closing(code: string, at: number): number {
  let depth = 0;
  for (let i = at; i < code.length; i++) {
    if ("([{".includes(code[i] as string)) depth += 1;
    if (")]}".includes(code[i] as string) && --depth === 0) return i;
  }
  return code.length;
}

function negations(code: string, source: string): Edit[] {
  return Array.from(code.matchAll(/\b(?:if|while) \(/g), ({ index, 0: found }) => {
    const from = index + found.length;
    const to = closing(code, from - 1);
    return { what: "negate a condition", from, to, text: `!(${source.slice(from, to)})` };
  });
}

/** Array literals alone: brackets that follow a value are an index or a type. */
function droppedElements(code: string): Edit[] {
  return Array.from(code.matchAll(/(?<=[=(,:?] ?|return |\n[ ]+)\[(?=[^\n\]]*,)/g)).flatMap(({ index }) => {
    const end = closing(code, index);
    let depth = 0;
    for (let i = index + 1; i < end; i++) {
      if ("([{".includes(code[i] as string)) depth += 1;
      if (")]}".includes(code[i] as string)) depth -= 1;
      if (depth === 0 && code[i] === ",")
        return [{ what: "drop the first element", from: index + 1, to: i + 1, text: "" }];
    }
    return [];
  });
}

/** Every change that leaves another program: what only touches types is none. */
export function mutantsOf(file: string, source: string = readSource(file)): Mutant[] {
  const code = mask(source);
  const edits = [...swapEdits(code), ...negations(code, source), ...droppedElements(code)];
  return edits.toSorted((a, b) => a.from - b.from).map((edit) => mutant(file, source, edit));
}

function mutant(file: string, source: string, { what, from, to, text }: Edit): Mutant {
  // As much around the place as makes it the only one of its kind.
  let [low, high] = [from, to];
  while (
    high === low ||
    source.indexOf(source.slice(low, high)) !== source.lastIndexOf(source.slice(low, high))
  ) {
    low = Math.max(0, low - 8);
    high = Math.min(source.length, high + 8);
  }
  const find = source.slice(low, high);
  const replace = source.slice(low, from) + text + source.slice(to, high);
  const lineStart = source.lastIndexOf("\n", from - 1) + 1;
  const lineEnd = source.indexOf("\n", to);
  return {
    name: `${file}:${source.slice(0, from).split("\n").length} ${what}`,
    file,
    find,
    replace,
    before: source.slice(lineStart, lineEnd).trim(),
    after: (source.slice(lineStart, from) + text + source.slice(to, lineEnd)).trim(),
  };
}

/** False when the change does not parse, or vanishes with the types. */
export function isOtherCode({ file, find, replace }: Patch): boolean {
  const source = readSource(file);
  try {
    return stripTypeScriptTypes(source) !== stripTypeScriptTypes(source.replace(find, () => replace));
  } catch {
    return false;
  }
}

/** The mutants of these files in an order drawn from a seed. */
export function shuffled(files: readonly string[], random: Random): Mutant[] {
  const all = files.flatMap((file) => mutantsOf(file));
  for (let i = all.length - 1; i > 0; i--) {
    const j = random.between(0, i);
    [all[i], all[j]] = [all[j] as Mutant, all[i] as Mutant];
  }
  return all;
}
