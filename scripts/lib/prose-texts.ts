/**
 * The texts in a file that people read: Markdown without its code, and the strings and templates of TypeScript.
 * What is left out is replaced by as many other characters, so that offsets are those of the file.
 */

/** A piece of text, and the offset of its first character in the file. */
export type Passage = { readonly text: string; readonly offset: number };

const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/** A Markdown page without fenced blocks, code spans, addresses of links and comments. */
export function proseOf(page: string): string {
  return page
    .replaceAll(/^ {0,3}(`{3,}|~{3,})[\s\S]*?(?:^ {0,3}\1[`~]*[ \t]*$|(?![\s\S]))/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank)
    .replaceAll(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, blank)
    .replaceAll(/\]\([^)\s]*\)/g, blank);
}

/** Strings and templates with a space in them. An expression inside a template counts as one unknown word. */
export function textsOf(source: string): Passage[] {
  const texts: Passage[] = [];
  readCode(source, 0, texts);
  return texts.filter(({ text }) => /\s/.test(text.trim())).toSorted((a, b) => a.offset - b.offset);
}

const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w$]+|\s+|[\s\S]/y;
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
/** After these words, as after most punctuation, a slash begins a regular expression. */
const beforeValue = /^(?:return|typeof|case|in|of|do|else|void|throw|yield|await)$/;

/** Reads code up to the brace that closes it, or to the end of the file; returns where it stopped. */
function readCode(source: string, start: number, texts: Passage[]): number {
  let depth = 0;
  let before = "";
  for (let at = start; at < source.length;) {
    const found = match(token, source, at);
    if (found === "{") depth += 1;
    if (found === "}" && depth-- === 0) return at;
    const isValue = /[\w$)\]}"'`]$/.test(before) && !beforeValue.test(before);
    let end = at + found.length;
    if (found === "`") end = readTemplate(source, end, texts);
    else if (/^["']/.test(found)) texts.push({ text: unescaped(found.slice(1, -1)), offset: at + 1 });
    else if (found === "/" && !isValue) end = at + (match(regularExpression, source, at) || "/").length;
    if (!/^(?:\s|\/[/*])/.test(found)) before = found;
    at = end;
  }
  return source.length;
}

/** Reads a template whose text begins at `start`; returns the offset after it. */
function readTemplate(source: string, start: number, texts: Passage[]): number {
  let text = "";
  for (let at = start; at < source.length;) {
    if (source[at] === "`") {
      texts.push({ text: unescaped(text), offset: start });
      return at + 1;
    }
    const isExpression = source.startsWith("${", at);
    const end = isExpression ? readCode(source, at + 2, texts) + 1 : at + (source[at] === "\\" ? 2 : 1);
    const part = source.slice(at, end);
    text += isExpression ? "~".repeat(part.length) : part;
    at = end;
  }
  return source.length;
}

/** A line break that is written as an escape is a blank like any other. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|[\s\S])/gi, blank);
}

function match(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? "";
}
