/**
 * What a page tells people to install is what its programs need.
 *
 * D16. Where a page has an install line, the packages that its programs import are in it, or in others of the page: with
 *      pnpm and Yarn a package that is only there because another one needs it cannot be imported.
 */
import { isBuiltin } from "node:module";
import type { Block } from "./markdown.ts";
import type { Pages, Problem } from "./docs-pages.ts";

/** Alone in its line, as code. */
const line = /^(?: {4,})?(?:\$ )?npm (?:i|install) (.*)$/gm;
const anywhere = /\bnpm (?:i|install) ([^`#\n]*)/g;
const imported = /\b(?:from|import)\s*\(?\s*"([^".][^"]*)"/g;

export function checkInstalls(pages: Pages): Problem[] {
  return [...pages].flatMap(([file, page]) => {
    if (namesIn(page.source, line).length === 0) return [];
    const installed = new Set(namesIn(page.source, anywhere));
    return page.blocks.flatMap((block) =>
      missing(block, installed).map((name) => ({
        file,
        line: block.line,
        message: `the program imports ${name}, which no install line of the page has`,
      })),
    );
  });
}

/** The packages of install lines, without versions. */
function namesIn(source: string, pattern: RegExp): string[] {
  return [...source.matchAll(pattern)].flatMap(([, rest = ""]) =>
    (rest.split("#")[0] ?? "")
      .split(/\s+/)
      .filter((word) => /^@?[a-z]/.test(word))
      .map((word) => word.replace(/(?<=.)@.*$/, "")),
  );
}

function missing({ info, text }: Block, installed: ReadonlySet<string>): string[] {
  if (info[0] !== "ts" || info.includes("part")) return [];
  const specifiers = [...text.matchAll(imported)].map(([, name = ""]) => name);
  const names = specifiers.filter((name) => !isBuiltin(name)).map(packageOf);
  return [...new Set(names)].filter((name) => !installed.has(name));
}

/** `@durable/core` of `@durable/core/sqlite`. */
function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
