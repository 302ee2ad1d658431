/**
 * The reference: pages under docs/reference that are written by hand, with regions that are made from the sources.
 *
 *     <!-- api @durable/core: durable, Workflow -->     an entry for each of these exports
 *     <!-- limits @durable/core: limits -->             a table of the numbers of this object
 *     <!-- screen @durable/core: durable, Context --> a row for each function, and for each member of a type
 *     <!-- end -->
 *
 * D10. Every export has one entry, and every entry is an export.
 * D11. A region holds what the sources say today; `npm run docs:reference` writes it.
 * D12. Every export has a doc comment.
 */
import type { Api, Exported } from "./api.ts";
import type { Problem } from "./docs-pages.ts";
import { limitsTable, type Numbers } from "./reference-limits.ts";
import { screenRows } from "./reference-screen.ts";

/** The pages of the reference, by path. */
export type Sources = ReadonlyMap<string, string>;

export const isReference = (file: string): boolean => file.startsWith("docs/reference/");

type Region = {
  readonly what: "api" | "limits" | "screen";
  readonly specifier: string;
  readonly names: readonly string[];
  /** The line of the opening marker, from 1. */
  readonly line: number;
  /** From the end of the opening marker to the closing one. */
  readonly from: number;
  readonly to: number;
};

const marker = /^<!-- (api|limits|screen) (\S+): ([\w$, \n]+) -->$/gm;
const closing = "<!-- end -->";

export function regionsOf(source: string): Region[] {
  return [...source.matchAll(marker)].map(({ 0: text, 1: what, 2: specifier = "", 3: names = "", index }) => {
    const from = index + text.length;
    const end = source.indexOf(closing, from);
    return {
      what: what as Region["what"],
      specifier,
      names: names.split(",").map((name) => name.trim()),
      line: source.slice(0, index).split("\n").length,
      from,
      to: end === -1 ? source.length : end,
    };
  });
}

/** Where each export has its entry: the page, and the heading there. */
type Places = ReadonlyMap<string, { readonly file: string; readonly heading: string }>;

const idOf = (specifier: string, name: string): string => `${specifier} ${name}`;

/** D10, by the names alone; `exported` has one line for each export: `specifier kind name`. */
export function checkEntries(pages: Sources, exported: readonly string[]): Problem[] {
  const known = new Map(
    exported.map((line) => line.trim().split(/\s+/)).map(([s = "", , n = ""]) => [idOf(s, n), 0]),
  );
  const problems: Problem[] = [];
  for (const [file, source] of pages) {
    for (const { what, specifier, names, line, from, to } of regionsOf(source)) {
      if (what !== "api") continue;
      const headings = [...source.slice(from, to).matchAll(/^### ([\w$]+)/gm)].map(([, name = ""]) => name);
      const say = (message: string): void => void problems.push({ file, line, message });
      for (const name of names) {
        const count = known.get(idOf(specifier, name));
        if (count === undefined) say(`${specifier} does not export ${name}`);
        else if (count > 0) say(`${name} of ${specifier} has an entry already`);
        known.set(idOf(specifier, name), (count ?? 0) + 1);
      }
      if (headings.join() !== names.join())
        say("the entries are not those that the marker names: npm run docs:reference");
    }
  }
  for (const [id, count] of known)
    if (count === 0)
      problems.push({ file: "docs/reference/README.md", line: 1, message: `${id} has no entry` });
  return problems;
}

/** The pages with their regions as they must be, and what cannot be written. */
export function render(
  pages: Sources,
  api: Api,
  numbers: Numbers,
): { readonly pages: Sources; readonly problems: readonly Problem[] } {
  const places = placesOf(pages, api);
  const problems: Problem[] = [];
  const rendered = [...pages].map(([file, source]): [string, string] => {
    let text = "";
    let at = 0;
    for (const region of regionsOf(source)) {
      const { specifier, names, line, from, to } = region;
      const say = (message: string): void => void problems.push({ file, line, message });
      const found = names.flatMap((name) => api.get(specifier)?.get(name) ?? []);
      for (const { name, doc } of found) if (doc === "") say(`${name} of ${specifier} has no doc comment`);
      text += `${source.slice(at, from)}\n\n${written(region, found, { api, numbers, file, places })}\n\n`;
      at = to;
    }
    return [file, text + source.slice(at)];
  });
  return { pages: new Map(rendered), problems };
}

interface Written {
  readonly api: Api;
  readonly numbers: Numbers;
  readonly file: string;
  readonly places: Places;
}

/** The text of a region. */
function written(
  { what }: Region,
  found: readonly Exported[],
  { api, numbers, file, places }: Written,
): string {
  if (what === "limits") return found.map((one) => limitsTable(one, api, numbers)).join("\n\n");
  if (what === "api") return found.map((one) => entry(one, file, places)).join("\n\n");
  return ["| Call | What it does |", "|---|---|", ...found.map(screenRows)].join("\n");
}

/** A page and its regions as they were and as they must be, compared. */
export function stale(before: Sources, after: Sources): Problem[] {
  return [...after].flatMap(([file, text]) => {
    if (before.get(file) === text) return [];
    const [was, is] = [(before.get(file) ?? "").split("\n"), text.split("\n")];
    const line = is.findIndex((one, i) => one !== was[i]) + 1;
    return [{ file, line, message: "is not what the sources say: npm run docs:reference" }];
  });
}

function placesOf(pages: Sources, api: Api): Places {
  const places = new Map<string, { file: string; heading: string }>();
  for (const [file, source] of pages) {
    const regions = regionsOf(source).filter(({ what }) => what === "api");
    const exports = regions.flatMap(({ specifier, names }) =>
      names.flatMap((n) => api.get(specifier)?.get(n) ?? []),
    );
    for (const one of exports) {
      // Anchors have no capitals: where a function and a type differ in them alone, the type says what it is.
      const twins = exports.filter(({ name }) => name.toLowerCase() === one.name.toLowerCase());
      const isType = one.kind === "type" || one.kind === "interface";
      const heading =
        one.kind === "function"
          ? `${one.name}()`
          : twins.length > 1 && isType
            ? `${one.name} (type)`
            : one.name;
      places.set(idOf(one.specifier, one.name), { file, heading });
    }
  }
  return places;
}

function entry({ specifier, name, doc, signature, uses }: Exported, file: string, places: Places): string {
  const heading = places.get(idOf(specifier, name))?.heading ?? name;
  const links = uses
    .filter((used) => used.name !== name || used.specifier !== specifier)
    .flatMap((used) => {
      const place = places.get(idOf(used.specifier, used.name));
      return place === undefined ? [] : [`[\`${used.name}\`](${linkTo(place, file)})`];
    });
  const see = links.length === 0 ? "" : `\n\nSee ${links.join(", ")}.`;
  const [said = "", example] = doc.split(/\s*@example /);
  const shown = example === undefined ? "" : `\n\n\`\`\`typescript\n${example}\n\`\`\``;
  return `### ${heading}\n\n${said}${shown}\n\n\`\`\`typescript\n${signature}\n\`\`\`${see}`;
}

function linkTo(
  { file, heading }: { readonly file: string; readonly heading: string },
  from: string,
): string {
  const anchor = heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");
  return `${file === from ? "" : (file.split("/").at(-1) ?? "")}#${anchor}`;
}
