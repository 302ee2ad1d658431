/** What happens to the text of a mail on its way there and back. */

import type { Random } from "@durable/testing";

type Mangle = (text: string, random: Random) => string;

const lines = (text: string, change: (line: string) => string): string =>
  text.split("\n").map(change).join("\n");

/** Lines that are longer than `width` are broken, in the middle of words if need be. */
const folded =
  (width: number, gap: string): Mangle =>
  (text) =>
    lines(text, (line) => (line.match(new RegExp(`.{1,${width}}`, "g")) ?? [""]).join(gap));

export const manglings: Readonly<Record<string, Mangle>> = {
  "left alone": (text) => text,
  quoted: (text) => lines(text, (line) => `> ${line}`),
  "quoted without a space": (text) => lines(text, (line) => `>${line}`),
  "quoted with a bar": (text) => lines(text, (line) => ` | ${line}`),
  "folded at 40": folded(40, "\n"),
  "folded at 40 and quoted": (text, random) => lines(folded(40, "\n")(text, random), (line) => `> > ${line}`),
  "folded with an indent": folded(30, "\n    "),
  "soft line breaks": folded(60, "=\r\n"),
  "soft line breaks, quoted": (text, random) => lines(folded(50, "=\n")(text, random), (line) => `> ${line}`),
  "upper case": (text) => text.toUpperCase(),
  "lower case": (text) => text.toLowerCase(),
  "mixed case": (text, random) =>
    text.replaceAll(/\w/g, (one) => (random.chance(0.5) ? one.toUpperCase() : one.toLowerCase())),
  "line ends of another system": (text) => text.replaceAll("\n", "\r\n"),
  "all on one line": (text) => text.replaceAll("\n", " "),
  "white space doubled": (text) => text.replaceAll(" ", "  "),
  "spaces that do not break": (text) => text.replaceAll(" ", "\u00A0"),
  "invisible characters": (text, random) =>
    text.replaceAll(/\w/g, (one) => (random.chance(0.2) ? `${one}\u200B` : one)),
  "escaped for HTML": (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  "brackets as entities": (text) => text.replaceAll("[", "&#91;").replaceAll("]", "&#x5D;"),
  "made a page": (text) =>
    `<html><body><div class="quote">${text
      .replaceAll("\n", "<br>\n")
      .replaceAll("[", "<p>[<wbr>")}</div></body></html>`,
  "emphasis marks": (text) => text.replaceAll(/[[\]]/g, "*$&*"),
};

/** These change the text that others match on, so they come last: a mail program does not quote the source of a page. */
const last = new Set(["made a page", "brackets as entities", "escaped for HTML"]);

/** Several of these, one after the other. */
export function mangled(text: string, random: Random, times: number): { text: string; names: string[] } {
  const picked = Array.from({ length: times }, () => random.pick(Object.keys(manglings)));
  const names = [...picked.filter((name) => !last.has(name)), ...picked.filter((name) => last.has(name))];
  return { names, text: names.reduce((now, name) => manglings[name]?.(now, random) ?? now, text) };
}
