/**
 * JavaScript without comments and without white space inside of statements, where each statement, member and long property
 * has a line of its own, indented by a tab for each block. Names are those of the sources, so a line of a stack trace says
 * which function and which statement it means.
 */
import { transform } from "esbuild";
import { parseSync } from "oxc-parser";

/** Objects longer than this have one line for each property. */
const longObject = 100;

export async function printLines(text: string): Promise<string> {
  const { code } = await transform(text, {
    minifyWhitespace: true,
    legalComments: "none",
    format: "esm",
    target: "es2023",
  });
  const { program, errors } = parseSync("built.js", code);
  if (errors.length > 0) throw new Error(errors[0]?.message);
  let result = "";
  let at = 0;
  for (const [start, depth] of lineStarts(program)) {
    result += `${code.slice(at, start).trimEnd()}\n${"\t".repeat(depth)}`;
    at = start;
  }
  return (result + code.slice(at)).trimStart();
}

type Tree = { readonly type: string; readonly start: number; readonly end: number };

/** Where lines begin, in order, with their depth. */
function lineStarts(program: object): [start: number, depth: number][] {
  const found = new Map<number, number>();
  const visit = (value: unknown, depth: number): void => {
    if (Array.isArray(value)) for (const one of value) visit(one, depth);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    const lines = linesOf(value as Tree);
    for (const line of lines) found.set(line.start, depth);
    const inner = lines.length > 0 ? depth + 1 : depth;
    for (const child of Object.values(value)) visit(child, inner);
  };
  visit(program, 0);
  return [...found].toSorted(([a], [b]) => a - b);
}

function linesOf(tree: Tree): readonly Tree[] {
  const { type, start, end, body, cases, consequent, properties } = tree as Tree & Record<string, Tree[]>;
  if (/^(?:Program|BlockStatement|StaticBlock|ClassBody)$/.test(type)) return body ?? [];
  if (type === "SwitchStatement") return cases ?? [];
  if (type === "SwitchCase") return consequent ?? [];
  return type === "ObjectExpression" && end - start > longObject ? (properties ?? []) : [];
}
