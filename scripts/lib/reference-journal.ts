/**
 * The page of the journal format against the type of the facts.
 *
 * D13. docs/reference/journal-format.md has one row for every kind of entry, with exactly its fields, and one row for
 *      each group of fields that kinds share.
 */
import type { Problem } from "./docs-pages.ts";

const file = "docs/reference/journal-format.md";

/** The fields of each kind, as a row of the page lists them: "`value`, `input?` + call". */
export function fieldsOfKinds(signature: string): Map<string, string> {
  const [union = "", ...shared] = signature.split(/^\/\/ Used above.*$|^(?=interface )/m);
  const groups = shared.flatMap((text) => /^interface (\w+)/.exec(text)?.[1] ?? []);
  const found = new Map<string, string>();
  for (const alternative of alternatives(union)) {
    const kinds = /readonly kind:((?:\s*\|?\s*"[\w.]+")+)/.exec(alternative)?.[1] ?? "";
    const group = groups.find((name) => alternative.includes(`& ${name}`));
    const fields = fieldsIn(alternative, group);
    for (const [, kind = ""] of kinds.matchAll(/"([\w.]+)"/g)) found.set(kind, fields);
  }
  return found;
}

/** The fields of the groups, by the names the page gives them. */
export function fieldsOfGroups(signature: string): Map<string, string> {
  const interfaces = signature.matchAll(/^interface (\w+)(?:<\w+>)?(?: extends (\w+))? \{([\s\S]*?)^\}/gm);
  return new Map(
    [...interfaces].map(([, name = "", base, body = ""]) => [onPage(name), fieldsIn(body, base)]),
  );
}

const names: Readonly<Record<string, string>> = { Attempted: "attempt", Leftovers: "leftovers" };
const onPage = (group: string): string => names[group] ?? "call";

function fieldsIn(text: string, group: string | undefined): string {
  // Fields of an object inside a field are not fields of the entry.
  const flat = text.replaceAll(/: \{[^{}]*\};/g, ": object;");
  const fields = [...flat.matchAll(/readonly (\w+)(\??):/g)].filter(([, name]) => name !== "kind");
  const own = fields.map(([, name, mark]) => `\`${name}${mark}\``).join(", ");
  return [own, group === undefined ? "" : `+ ${onPage(group)}`].filter((part) => part !== "").join(" ");
}

/** The members of a union, which the formatter puts on lines of their own. */
function alternatives(union: string): string[] {
  const code = union.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  return code.split(/^ {2}\| /m).slice(1);
}

export function checkJournalFormat(page: string, signature: string): Problem[] {
  const rows = [...page.matchAll(/^\| (?:`([a-z]+\.[a-z]+)`|(call|attempt|leftovers)) \| ([^|]*) \|/gm)];
  const expected = new Map([...fieldsOfKinds(signature), ...fieldsOfGroups(signature)]);
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const { 1: kind, 2: group, 3: fields = "", index } of rows) {
    const name = kind ?? group ?? "";
    const line = page.slice(0, index).split("\n").length;
    const fit = expected.get(name);
    if (fit === undefined || seen.has(name))
      problems.push({ file, line, message: `${name} is unknown, or has a row already` });
    else if (fit !== fields.trim()) problems.push({ file, line, message: `${name} has the fields ${fit}` });
    seen.add(name);
  }
  for (const name of expected.keys())
    if (!seen.has(name)) problems.push({ file, line: 1, message: `${name} has no row` });
  return problems;
}
