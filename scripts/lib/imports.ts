/**
 * Finds what a TypeScript file imports, by text. The formatter keeps import statements at the start
 * of a line, and format:check enforces that, so no parser is needed.
 */

export type Import = {
  /** What is imported, or `null` for an `import()` whose argument is not a plain string. */
  readonly specifier: string | null;
  readonly line: number;
  /** Nothing of it is left when the program runs. */
  readonly typeOnly: boolean;
};

const statement = /(?:^|;)[ \t]*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"'\n]+)["']/gm;
const sideEffect = /(?:^|;)[ \t]*import\s*["']([^"'\n]+)["']/gm;
// Covers `await import("x")` and the type `import("x").Name` alike.
const call = /(?<![.\w$"'`#])import\s*\(\s*(?:["']([^"'\n]+)["']\s*[,)])?/g;

/** Every import of a file in order, type-only ones and re-exports included. */
export function findImports(source: string): Import[] {
  const code = blankComments(source);
  return [statement, sideEffect, call]
    .flatMap((pattern) => [...code.matchAll(pattern)])
    .map((match) => ({
      specifier: match[1] ?? null,
      typeOnly: /^[\s;]*(?:import|export)\s+type\b/.test(match[0]),
      line: lineAt(code, match.index + match[0].search(/[^\s;]/)),
    }))
    .toSorted((a, b) => a.line - b.line);
}

/** Blanks whole-line comments and doc blocks, so examples in them are not taken for imports; lines stay. */
export function blankComments(source: string): string {
  return source
    .replaceAll(/^[ \t]*\/\*[\s\S]*?\*\//gm, (comment) => comment.replaceAll(/[^\n]/g, " "))
    .replaceAll(/(^|\s)\/\/.*$/gm, "$1");
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
