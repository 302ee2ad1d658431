/**
 * Any text in a column of Postgres, which cannot contain U+0000. Such a character is written as U+0001 and "0", and
 * U+0001 itself as U+0001 and "1". JSON escapes both, so nothing that core writes is changed.
 *
 * text.1. Different texts stay different, so that equality in the database is equality of the texts.
 */

// oxlint-disable-next-line no-control-regex -- these two characters are what this file is about
const special = /[\u0000\u0001]/g;
// oxlint-disable-next-line no-control-regex -- see above
const escaped = /\u0001([01])/g;

/** The text as a column has it. */
export function put(text: string): string {
  return text.includes("\u0000") || text.includes("\u0001")
    ? text.replace(special, (character) => (character === "\u0000" ? "\u00010" : "\u00011"))
    : text;
}

/** The text that was put into a column. */
export function take(column: string): string {
  return column.includes("\u0001")
    ? column.replace(escaped, (_, digit) => (digit === "0" ? "\u0000" : "\u0001"))
    : column;
}
