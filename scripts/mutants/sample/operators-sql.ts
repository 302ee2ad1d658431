/**
 * Conditions in SQL that no longer hold anything back. `p` becomes `(p OR TRUE)`: without its text, a parameter that
 * only `p` uses would be an error that every test sees.
 */
import type { Slip } from "./operators.ts";
import type { Placed, Source } from "./syntax.ts";

const statement = /\b(?:SELECT|UPDATE|DELETE|INSERT|PERFORM|WHERE)\b/;
const start = /\b(?:WHERE|AND|ON|WHEN|HAVING|IF|FILTER \(WHERE)\s+/g;
const stop =
  /\b(?:AND|OR|THEN|ORDER|GROUP|LIMIT|RETURNING|FOR|UNION|WHERE|JOIN|LEFT|INNER|CROSS|WINDOW|HAVING|ON|SET|ELSE|END|DO)\b/y;

export function sqlSlips(source: Source, { node }: Placed): Slip[] {
  const isText =
    node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node["value"] === "string");
  const text = source.of(node);
  if (!isText || !statement.test(masked(text))) return [];
  return predicatesIn(text).map(([from, to]) => ({
    operator: "drop a condition of SQL",
    from: node.start + from,
    to: node.start + to,
    text: `(${text.slice(from, to)} OR TRUE)`,
    at: node.start,
  }));
}

/** Where the conditions of a text begin and end. */
export function predicatesIn(text: string): [from: number, to: number][] {
  const plain = masked(text);
  return Array.from(plain.matchAll(start)).flatMap(({ index, 0: word }) => {
    const from = index + word.length;
    const before = plain.slice(0, index);
    // The AND of a BETWEEN, the IF of an END IF, and the names of conflicts and triggers.
    if (/\bBETWEEN\s+\S+(?:\s*[-+*/]\s*\S+)*\s+$/.test(before) && word.startsWith("AND")) return [];
    if (/\bEND\s+$/.test(before) || (word.startsWith("ON") && !/\bJOIN\b[^;]*$/.test(before))) return [];
    if (
      /^IF\s+(?:NOT\s+)?EXISTS\s/.test(plain.slice(index)) &&
      !/^IF\s+(?:NOT\s+)?EXISTS\s*\(/.test(plain.slice(index))
    )
      return [];
    const to = endOf(plain, from);
    const found = plain.slice(from, to);
    return /[\w)]/.test(found) && !/^(?:NOT\s+)?(?:MATCHED|CONFLICT)\b/.test(found)
      ? [[from, to] as [number, number]]
      : [];
  });
}

/** Up to the word, or the bracket, that ends a condition. */
function endOf(text: string, from: number): number {
  let depth = 0;
  let cases = 0;
  for (let at = from; at < text.length; at++) {
    const sign = text[at] as string;
    if (sign === "(") depth += 1;
    if (sign === ")" && --depth < 0) return trimmed(text, from, at);
    if (depth > 0) continue;
    if (sign === ";") return trimmed(text, from, at);
    if (/\w/.test(text[at - 1] ?? "")) continue;
    if (/^CASE\b/.test(text.slice(at, at + 5))) cases += 1;
    if (cases > 0) {
      if (/^END\b/.test(text.slice(at, at + 4))) {
        cases -= 1;
        at += 2;
      }
      continue;
    }
    if (/^BETWEEN\b/.test(text.slice(at, at + 8))) at = text.indexOf("AND", at) + 2;
    stop.lastIndex = at;
    if (stop.test(text)) return trimmed(text, from, at);
  }
  return trimmed(text, from, text.length - 1);
}

function trimmed(text: string, from: number, to: number): number {
  return from + text.slice(from, to).trimEnd().length;
}

/** Expressions in a template, texts and comments of SQL, with other characters in their place. */
function masked(text: string): string {
  let depth = 0;
  let plain = "";
  for (let at = 0; at < text.length; at++) {
    if (depth === 0 && text.startsWith("${", at)) {
      depth = 1;
      plain += "xx";
      at += 1;
      continue;
    }
    if (depth > 0) {
      if (text[at] === "{") depth += 1;
      if (text[at] === "}") depth -= 1;
      plain += "x";
    } else plain += text[at];
  }
  return plain
    .replaceAll(/'(?:''|[^'\n])*'/g, (found) => "x".repeat(found.length))
    .replaceAll(/--[^\n]*/g, (found) => " ".repeat(found.length));
}
