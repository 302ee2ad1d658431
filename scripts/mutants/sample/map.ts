/**
 * Which test files reach which lines: made by running every test file once, alone, under the coverage of V8.
 *
 * map.1. It is kept per test file, so an interrupted map goes on where it stopped.
 * map.2. Lines count only for the text that was measured. Of a source file that has changed since, every line counts as
 *     reached by all test files that reached any line of it: too many tests run, and never too few.
 * map.3. A test file that fails without a mutant notices nothing, and is left out.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { Coverage, type Probed, type Reached } from "./coverage.ts";
import { runNode } from "./processes.ts";
import type { Scratch } from "./scratch.ts";

/** A part of a source file that a test file reaches. */
type Part = { readonly hash: string; readonly lines: string };

/** What is known about a test file. */
export type Measured = {
  readonly test: string;
  readonly hash: string;
  /** It passes without a mutant. */
  readonly ok: boolean;
  readonly cpuMs: number;
  readonly reaches: Readonly<Record<string, Part>>;
};

export type TestCost = { readonly test: string; readonly cpuMs: number };

const places = ["{packages,examples}/*/test/**/*.test.ts", "{runtimes,scripts}/test/**/*.test.ts"];
const filesAtOnce = 12;
const mostMs = 20 * 60_000;

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The test files of a plain `npm test`, without those of this tool and of the planted bugs. */
export function testFiles(root: string): string[] {
  return globSync(places, { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !path.endsWith(".full.test.ts") && !/^scripts\/test\/.*mutants/.test(path))
    .toSorted();
}

export class TestMap {
  readonly #root: string;
  readonly #folder: string;
  readonly #measured = new Map<string, Measured>();
  readonly #hashes = new Map<string, string>();

  constructor(root: string, folder: string = join(root, "node_modules", ".cache", "mutants", "map")) {
    this.#root = root;
    this.#folder = folder;
    const tests = new Set(testFiles(root));
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (!name.endsWith(".json")) continue;
      const measured = JSON.parse(readFileSync(join(folder, name), "utf8")) as Measured;
      if (tests.has(measured.test)) this.#measured.set(measured.test, measured);
    }
  }

  /** Test files without a measurement of their present text; with `all`, also those whose sources have changed. */
  outdated(all: boolean): string[] {
    return testFiles(this.#root).filter((test) => {
      const known = this.#measured.get(test);
      if (known === undefined || known.hash !== this.#hash(test)) return true;
      return all && Object.entries(known.reaches).some(([file, { hash }]) => this.#hash(file) !== hash);
    });
  }

  /** Test files that reach a line. */
  reaching(file: string, line: number): TestCost[] {
    return [...this.#measured.values()].filter(({ ok, reaches }) => {
      const part = reaches[file];
      if (!ok || part === undefined) return false;
      return part.hash !== this.#hash(file) || hasLine(part.lines, line);
    });
  }

  /** Test files of a package. They are tried when none is known to reach a line: a process may die unmeasured. */
  ofPackage(name: string): TestCost[] {
    return [...this.#measured.values()].filter(({ ok, test }) => ok && test.startsWith(`packages/${name}/`));
  }

  get failing(): string[] {
    return [...this.#measured.values()].filter(({ ok }) => !ok).map(({ test }) => test);
  }

  get size(): number {
    return this.#measured.size;
  }

  /** Measures test files in a copy of the workspace. */
  async measure(tests: readonly string[], scratch: Scratch, said: (done: number) => void): Promise<void> {
    const coverage = new Coverage(scratch.root);
    for (let done = 0; done < tests.length; done += filesAtOnce) {
      said(done);
      const batch = tests.slice(done, done + filesAtOnce);
      for (const measured of await measureSome(batch, scratch, coverage)) this.#keep(measured);
    }
    said(tests.length);
  }

  #keep(measured: Measured): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, `${hashOf(measured.test)}.json`);
    writeFileSync(`${path}.new`, JSON.stringify(measured));
    renameSync(`${path}.new`, path);
    this.#measured.set(measured.test, measured);
  }

  #hash(file: string): string {
    const known = this.#hashes.get(file);
    if (known !== undefined) return known;
    const path = join(this.#root, file);
    const hash = existsSync(path) ? hashOf(readFileSync(path, "utf8")) : "";
    this.#hashes.set(file, hash);
    return hash;
  }
}

async function measureSome(
  tests: readonly string[],
  scratch: Scratch,
  coverage: Coverage,
): Promise<Measured[]> {
  const folder = scratch.newFolder("probe");
  try {
    const report = join(folder, "report.json");
    const vitest = join(scratch.root, "node_modules", "vitest", "vitest.mjs");
    const config = ["--config", "scripts/mutants/sample/map.config.ts", "--maxWorkers", "1"];
    const reporter = ["--reporter", "json", "--outputFile", report];
    await runNode([vitest, "run", ...config, ...reporter, ...tests], {
      cwd: scratch.root,
      env: { ...scratch.env, MUTANTS_PROBE: folder, MUTANTS_ROOT: scratch.root },
      wallMs: mostMs,
    });
    const passed = passedFiles(report, scratch.root);
    const probes = probesIn(folder, scratch.root);
    return tests.map((test) => {
      const probed = probes.get(test);
      const reached = probed === undefined ? new Map() : coverage.reached(probed, join(folder, "texts"));
      return {
        test,
        hash: hashOf(readFileSync(join(scratch.root, test), "utf8")),
        ok: passed.has(test),
        cpuMs: Math.round(probed?.cpuMs ?? 5_000),
        reaches: partsOf(reached, scratch.root),
      };
    });
  } finally {
    scratch.clean();
  }
}

/** The files of a report in which nothing failed. */
export function passedFiles(report: string, root: string): Set<string> {
  if (!existsSync(report)) return new Set();
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    testResults: { name: string; status: string }[];
  };
  const passed = testResults.filter(({ status }) => status === "passed");
  return new Set(passed.map(({ name }) => relative(root, name).replaceAll("\\", "/")));
}

function probesIn(folder: string, root: string): Map<string, Probed> {
  const names = readdirSync(folder).filter((name) => /^[\da-f]{16}\.json$/.test(name));
  return new Map(
    names.map((name) => {
      const probed = JSON.parse(readFileSync(join(folder, name), "utf8")) as Probed;
      return [relative(root, probed.testFile).replaceAll("\\", "/"), probed];
    }),
  );
}

function partsOf(reached: Reached, root: string): Record<string, Part> {
  return Object.fromEntries(
    [...reached].map(([file, lines]) => {
      const hash = hashOf(readFileSync(join(root, file), "utf8"));
      return [file, { hash, lines: rangesOf(lines) }];
    }),
  );
}

/** `1-4,7`. */
export function rangesOf(lines: ReadonlySet<number>): string {
  const ranges: [number, number][] = [];
  for (const line of [...lines].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else ranges.push([line, line]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

export function hasLine(ranges: string, line: number): boolean {
  return ranges.split(",").some((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return from !== undefined && to !== undefined && from <= line && line <= to;
  });
}
