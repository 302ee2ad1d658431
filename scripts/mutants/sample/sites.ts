/** Where a source can be changed, and the mutants that this gives. */
import { createHash } from "node:crypto";
import { transformSync } from "esbuild";
import { slipsOf, type Slip } from "./operators.ts";
import { placeOf, Source } from "./syntax.ts";

export type Mutant = {
  /** Depends on the file, the names around, the operator and the changed text, and so not on other lines. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** The lines that tell which tests reach it. */
  readonly reachedAt: number;
  readonly within: string;
  readonly operator: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly before: string;
};

/** A place in a file, with everything that may go wrong there. */
export type Site = readonly Mutant[];

export function sitesOf(file: string, text: string): Site[] {
  const source = new Source(text);
  const seen = new Map<string, number>();
  const sites = new Map<string, Mutant[]>();
  for (const { slip, placed } of slipsOf(source)) {
    const within = placeOf(source, placed);
    const key = [file, within, slip.operator, flat(source.of(spanOf(slip))), flat(slip.text)].join("\n");
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    const mutant = {
      id: createHash("sha256").update(`${key}\n${nth}`).digest("hex").slice(0, 10),
      file,
      line: source.lineAt(slip.from + 1),
      reachedAt: source.lineAt((slip.at ?? slip.from) + 1),
      within,
      operator: slip.operator,
      from: slip.from,
      to: slip.to,
      text: slip.text,
      before: source.of(spanOf(slip)),
    };
    const place = `${placed.node.start} ${slip.from}`;
    sites.set(place, [...(sites.get(place) ?? []), mutant]);
  }
  return [...sites.values()].toSorted((a, b) => (a[0]?.from ?? 0) - (b[0]?.from ?? 0));
}

function spanOf({ from, to }: Slip): { start: number; end: number } {
  return { start: from, end: to };
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

export function mutated({ from, to, text }: Mutant, source: string): string {
  return source.slice(0, from) + text + source.slice(to);
}

/** False when the change does not parse, or the program means the same to a compiler. */
export function isOtherProgram(mutant: Mutant, source: string): boolean {
  try {
    return compiled(mutated(mutant, source)) !== compiled(source);
  } catch {
    return false;
  }
}

function compiled(text: string): string {
  const options = { loader: "ts", target: "esnext", minifySyntax: true, minifyWhitespace: true } as const;
  return transformSync(text, { ...options, logLevel: "silent" }).code;
}

/** The changed lines as people read changes. */
export function diffOf({ file, line, from, to, text }: Mutant, source: string): string {
  const start = source.lastIndexOf("\n", from - 1) + 1;
  const found = source.indexOf("\n", to);
  const end = found === -1 ? source.length : found;
  const before = source.slice(start, end).split("\n");
  const after = (source.slice(start, from) + text + source.slice(to, end)).split("\n");
  return [`${file}:${line}`, ...signed("-", before), ...signed("+", after)].join("\n");
}

function signed(sign: string, lines: readonly string[]): string[] {
  return lines.map((one) => `${sign} ${one}`);
}
