/**
 * Reads the public names off an entry file, by text: TypeScript 7 has no stable API to ask.
 * Entry files name every export; `export *` is refused, since it would hide what becomes public.
 */

import { readFileSync } from "node:fs";
import { entryPoints, type Package } from "./workspace.ts";

export type PublicName = { readonly kind: "type" | "value"; readonly name: string };

const list = /^export\s+(type\s+)?\{([^}]*)\}/gm;
const declaration =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function\*?|class|const|let|interface|type)\s+([\w$]+)/gm;

/** The names that users can import from one specifier. */
export type PublicEntry = { readonly specifier: string; readonly names: readonly PublicName[] };

/** What can be imported from a package, by what name, read off its sources. */
export function publicEntries(entry: Package): PublicEntry[] {
  return entryPoints(entry).map(({ specifier, source }) => {
    try {
      return { specifier, names: publicNames(readFileSync(source, "utf8")) };
    } catch (error) {
      throw new Error(`Cannot read the public names of ${specifier}`, { cause: error });
    }
  });
}

/** The names an entry file exports, values first, each group sorted. */
export function publicNames(source: string): PublicName[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "$1");
  if (/^export\s+(?:type\s+)?\*/m.test(code))
    throw new Error("`export *` hides what is public: name every export");

  const listed = [...code.matchAll(list)].flatMap(([, typeOnly, names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => listedName(name, typeOnly !== undefined)),
  );
  const declared = [...code.matchAll(declaration)].map(([, keyword = "", name = ""]) =>
    publicName(name, keyword === "interface" || keyword === "type"),
  );
  const byKindThenName = (a: PublicName, b: PublicName): number =>
    b.kind.localeCompare(a.kind) || a.name.localeCompare(b.name, "en");
  return [...listed, ...declared].toSorted(byKindThenName);
}

function listedName(text: string, typeOnly: boolean): PublicName {
  const inlineType = /^type\s/.test(text);
  const name = text.split(/\s+as\s+/).at(-1) ?? text;
  return publicName(name.replace(/^type\s+/, ""), typeOnly || inlineType);
}

function publicName(name: string, isType: boolean): PublicName {
  return { kind: isType ? "type" : "value", name };
}
