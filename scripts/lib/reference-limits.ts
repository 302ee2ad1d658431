/** Tables of the limits: numbers from the objects themselves, meanings from their doc comments. */
import type { Api, Exported } from "./api.ts";

/** The exported objects that hold limits, by specifier and name. */
export type Numbers = ReadonlyMap<string, Readonly<Record<string, number>>>;

const member = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+)\??:/g;

/** One row for each number of an exported object. */
export function limitsTable({ specifier, name, signature }: Exported, api: Api, numbers: Numbers): string {
  const values = numbers.get(`${specifier} ${name}`);
  if (values === undefined) throw new Error(`${name} of ${specifier} has no numbers`);
  // Of an object with a named type, the type has the comments.
  const type = /^const \w+: (\w+);/.exec(signature)?.[1];
  const described = type === undefined ? signature : (api.get(specifier)?.get(type)?.signature ?? "");
  const meanings = new Map(
    [...described.matchAll(member)].map(([, text = "", key = ""]) => [
      key,
      text.replaceAll(/\s*\n\s*\* ?/g, " ").trim(),
    ]),
  );
  const rows = Object.entries(values).map(([key, value]) => {
    const meaning = meanings.get(key) ?? "";
    if (meaning === "") throw new Error(`${name}.${key} of ${specifier} has no doc comment`);
    return `| \`${key}\` | ${shown(key, value)} | ${meaning.replace(/; [^;]* by default\.$/, ".")} |`;
  });
  return ["| Limit | Value | Meaning |", "|---|---|---|", ...rows].join("\n");
}

function shown(key: string, value: number): string {
  const digits = value.toLocaleString("en");
  if (/bytes$/i.test(key)) {
    const [size, unit] = value % 2 ** 20 === 0 ? [value / 2 ** 20, "MiB"] : [value / 2 ** 10, "KiB"];
    return `${size} ${unit} (${digits})`;
  }
  return /(?:Ms|Timeout)$/.test(key) ? `${digits} ms` : digits;
}
