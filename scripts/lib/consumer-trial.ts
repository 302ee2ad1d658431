/** Compiles a program outside of the workspace with a given compiler, and runs it on a given Node. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compilerOptions, type Setting, type Verdict } from "./consumer-matrix.ts";
import { successLine } from "./consumer-program.ts";
import { capture } from "./workspace.ts";

/** A cell of the table, and a report when the result is not the expected one. */
export type Trial = { readonly cell: string; readonly report: string | null };

export type Compilation = {
  readonly files: Readonly<Record<string, string>>;
  /** The folder of the package `typescript`. */
  readonly compiler: string;
  readonly resolution: Setting["resolution"];
  readonly expected: Verdict;
};

/** Writes the program into a new folder and compiles it there, into `out`. */
export function compile(folder: string, { files, compiler, resolution, expected }: Compilation): Trial {
  mkdirSync(folder);
  const config = { compilerOptions: compilerOptions(resolution), files: Object.keys(files) };
  const all = { ...files, "tsconfig.json": JSON.stringify(config) };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
  const { ok, said } = capture(process.execPath, [join(compiler, "bin", "tsc"), "-p", "."], { cwd: folder });
  const codes = new Set([...said.matchAll(/error (TS\d+):/g)].map(([, code]) => code));
  if (expected === "compiles" && ok) return { cell: "ok", report: null };
  if (!ok && codes.size === 1 && codes.has(expected)) return { cell: `refuses (${expected})`, report: null };
  const wanted = expected === "compiles" ? "no error" : `${expected} and nothing else`;
  return { cell: "FAILED", report: `${folder}: wanted ${wanted}, and the compiler says:\n${said}` };
}

/** Runs a compiled program in a new DURABLE_DIR. A program that ends too early exits with 0 as well, so its output counts. */
export function runProgram(folder: string, file: string, node: string): Trial {
  const env = { DURABLE_DIR: join(folder, `journals-${process.hrtime.bigint()}`) };
  const { ok, stdout, said } = capture(node, [join("out", file)], { cwd: folder, env });
  if (ok && stdout.trim() === successLine) return { cell: "ok", report: null };
  return { cell: "FAILED", report: `${folder}: ${node} says of ${file}:\n${said}` };
}
