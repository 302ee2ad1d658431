/** From what V8 reports about a process to the lines of source files that it has reached. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type FunctionRanges = { readonly ranges: readonly Range[] };

/** A script as V8 has it: `text` is the name of a file with what was compiled. */
export type ProbedScript = {
  readonly url: string;
  readonly text: string;
  readonly functions: readonly FunctionRanges[];
};

/** What the probe writes about a test file. */
export type Probed = {
  readonly testFile: string;
  readonly cpuMs: number;
  /** Reports of the processes that it started. */
  readonly children: string;
  readonly scripts: readonly ProbedScript[];
};

/** Where in a compiled text its words begin, and the lines of the source that they come from. */
type Words = { readonly offsets: readonly number[]; readonly lines: readonly number[] };

/** Lines by source file, counted from 1. */
export type Reached = Map<string, Set<number>>;

export class Coverage {
  readonly #root: string;
  readonly #words = new Map<string, Words>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Everything that a test file and its processes have reached. */
  reached({ scripts, children }: Probed, texts: string): Reached {
    const reached: Reached = new Map();
    for (const { url, text, functions } of scripts)
      this.#add(reached, url, functions, () => [text, readFileSync(join(texts, text), "utf8")]);
    for (const { url, functions } of childScripts(children)) {
      const path = pathOf(url);
      // Node strips types without moving anything, so offsets are those of the source.
      if (existsSync(path)) this.#add(reached, url, functions, () => [path, readFileSync(path, "utf8")]);
    }
    return reached;
  }

  #add(
    reached: Reached,
    url: string,
    functions: readonly FunctionRanges[],
    read: () => readonly [name: string, text: string],
  ): void {
    const file = relative(this.#root, pathOf(url)).replaceAll("\\", "/");
    if (!/^packages\/[\w-]+\/src\/.*\.ts$/.test(file)) return;
    const [name, text] = read();
    const words = this.#words.get(name) ?? wordsOf(text);
    this.#words.set(name, words);
    const lines = reached.get(file) ?? new Set();
    reached.set(file, lines);
    for (const line of reachedLines(words, functions)) lines.add(line);
  }
}

function pathOf(url: string): string {
  const plain = url.split("?", 1)[0] as string;
  return plain.startsWith("file:") ? fileURLToPath(plain) : plain;
}

function childScripts(folder: string): { url: string; functions: FunctionRanges[] }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    try {
      const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as {
        result: { url: string; functions: FunctionRanges[] }[];
      };
      return result.filter(({ url }) => /\/packages\/[\w-]+\/src\//.test(url));
    } catch {
      // The process was killed while it wrote.
      return [];
    }
  });
}

export function wordsOf(text: string): Words {
  const map = sourceMapOf(text);
  const offsets: number[] = [];
  const lines: number[] = [];
  let start = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (line.startsWith("//# sourceMapping")) break;
    for (const { index: column } of line.matchAll(/[^\s]+/g)) {
      const original = map === null ? index : originalLine(map, index, column);
      if (original === null) continue;
      offsets.push(start + column);
      lines.push(original + 1);
    }
    start += line.length + 1;
  }
  return { offsets, lines };
}

function sourceMapOf(text: string): SourceMap | null {
  const found = text.lastIndexOf("//# sourceMappingURL=data:application/json");
  if (found === -1) return null;
  const encoded = text.slice(text.indexOf("base64,", found) + 7).split("\n", 1)[0] as string;
  return new SourceMap(JSON.parse(Buffer.from(encoded, "base64").toString("utf8")) as SourceMapPayload);
}

function originalLine(map: SourceMap, line: number, column: number): number | null {
  const entry = map.findEntry(line, column);
  // An entry of an earlier line says nothing about this one.
  return "originalLine" in entry && entry.generatedLine === line ? entry.originalLine : null;
}

/** An inner range says more than the one around it, and comes later. */
export function reachedLines({ offsets, lines }: Words, functions: readonly FunctionRanges[]): Set<number> {
  const counts = new Uint8Array(offsets.length);
  const ranges = functions.flatMap((one) => one.ranges);
  const outerFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of outerFirst)
    counts.fill(count > 0 ? 1 : 0, firstAt(offsets, startOffset), firstAt(offsets, endOffset));
  return new Set(lines.filter((_, index) => counts[index] === 1));
}

/** The first index whose offset is not before this one. */
function firstAt(offsets: readonly number[], offset: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] as number) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
