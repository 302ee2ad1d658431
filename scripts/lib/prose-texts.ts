/**
 * The texts in a file that people read: Markdown without its code, and the strings, templates and comments of
 * TypeScript. Parts that are left out are replaced by as many other characters, so that offsets are those of the file.
 */

/** A piece of text, and the offset of its first character in the file. */
export type Passage = { readonly text: string; readonly offset: number };

const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");
const unknown = (text: string): string => text.replaceAll(/[^\n]/g, "~");

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
  const { texts } = passagesOf(source);
  return texts.filter(({ text }) => /\s/.test(text.trim())).toSorted((a, b) => a.offset - b.offset);
}

/** Comments without their marks. A code span counts as one unknown word. Line comments that follow each other are one. */
export function commentsOf(source: string): Passage[] {
  const joined: Passage[] = [];
  for (const { text, offset } of passagesOf(source).comments.toSorted((a, b) => a.offset - b.offset)) {
    const last = joined.at(-1);
    const end = last === undefined ? 0 : last.offset + last.text.length;
    const continues = last !== undefined && isLine(text) && isLine(last.text);
    if (continues && /^\n[ \t]*$/.test(source.slice(end, offset))) {
      joined[joined.length - 1] = { text: source.slice(last.offset, offset) + text, offset: last.offset };
    } else joined.push({ text, offset });
  }
  return joined.map(({ text, offset }) => ({ text: unmarked(text), offset }));
}

const isLine = (comment: string): boolean => comment.startsWith("//");

function unmarked(comment: string): string {
  const marks = isLine(comment) ? /^[ \t]*\/\/+/gm : /^\/\*+|\*+\/$|^[ \t]*\*(?!\/)/gm;
  return comment.replaceAll(marks, blank).replaceAll(/`[^`]*`/g, unknown);
}

type Passages = { readonly texts: Passage[]; readonly comments: Passage[] };

function passagesOf(source: string): Passages {
  const found = { texts: [], comments: [] };
  readCode(source, 0, found);
  return found;
}

const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w$]+|\s+|[\s\S]/y;
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
/** After these words, as after most punctuation, a slash begins a regular expression. */
const beforeValue = /^(?:return|typeof|case|in|of|do|else|void|throw|yield|await)$/;

/** Reads code up to the brace that closes it, or to the end of the file; returns where it stopped. */
function readCode(source: string, start: number, passages: Passages): number {
  let depth = 0;
  let before = "";
  for (let at = start; at < source.length;) {
    const found = match(token, source, at);
    if (found === "{") depth += 1;
    if (found === "}" && depth-- === 0) return at;
    const isValue = /[\w$)\]}"'`]$/.test(before) && !beforeValue.test(before);
    let end = at + found.length;
    if (found === "`") end = readTemplate(source, end, passages);
    else if (/^["']/.test(found)) {
      passages.texts.push({ text: unescaped(found.slice(1, -1)), offset: at + 1 });
    } else if (/^\/[/*]/.test(found)) passages.comments.push({ text: found, offset: at });
    else if (found === "/" && !isValue) end = at + (match(regularExpression, source, at) || "/").length;
    if (!/^(?:\s|\/[/*])/.test(found)) before = found;
    at = end;
  }
  return source.length;
}

/** Reads a template whose text begins at `start`; returns the offset after it. */
function readTemplate(source: string, start: number, passages: Passages): number {
  let text = "";
  for (let at = start; at < source.length;) {
    if (source[at] === "`") {
      passages.texts.push({ text: unescaped(text), offset: start });
      return at + 1;
    }
    const isExpression = source.startsWith("${", at);
    const end = isExpression ? readCode(source, at + 2, passages) + 1 : at + (source[at] === "\\" ? 2 : 1);
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
