/** How many columns a text takes, and texts of an exact width. */

import { unstyled } from "../terminal.ts";

const marks = /\p{Mark}|\u200B|\u200D|\uFE0F/u;
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;

/** Columns of a text, without its marks of style. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of unstyled(text)) width += marks.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** The beginning of a text that fits; `more` shows that something is missing. */
export function fit(text: string, columns: number, more = "…"): string {
  if (widthOf(text) <= columns) return text;
  let width = widthOf(more);
  let cut = "";
  for (const character of unstyled(text)) {
    width += widthOf(character);
    if (width > columns) break;
    cut += character;
  }
  return cut + more;
}

/** The same text over lines that fit: cut between words, and inside of those that are too long. Its own lines stay. */
export function wrap(text: string, columns: number): string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const lines = [""];
    for (const word of line.split(/\s+/).filter(Boolean)) {
      const last = lines.at(-1) ?? "";
      const joined = last === "" ? word : `${last} ${word}`;
      if (widthOf(joined) <= columns) lines[lines.length - 1] = joined;
      else if (last === "") lines.splice(-1, 1, ...pieces(word, columns));
      else lines.push(...pieces(word, columns));
    }
    return lines;
  });
}

function pieces(word: string, columns: number): string[] {
  const found = [""];
  let width = 0;
  for (const character of word) {
    const more = widthOf(character);
    if (width + more > columns) {
      found.push("");
      width = 0;
    }
    width += more;
    found[found.length - 1] += character;
  }
  return found;
}

export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

export function padStart(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - widthOf(text))) + text;
}
