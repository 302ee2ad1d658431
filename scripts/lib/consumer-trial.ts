/** Compiles a program of a user with a given compiler, and runs it on a given Node. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compilerOptions, type Setting, type Verdict } from "./consumer-matrix.ts";
import { farewell } from "./consumer-program.ts";
import { capture } from "./workspace.ts";

/** What goes into the table; with a report when it is not what was expected. */
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

/** Runs a compiled program, with a place of its own for journals. Silence is no success: it must say goodbye. */
export function runProgram(folder: string, file: string, node: string): Trial {
  const env = { DURABLE_DIR: join(folder, `journals-${process.hrtime.bigint()}`) };
  const { ok, stdout, said } = capture(node, [join("out", file)], { cwd: folder, env });
  if (ok && stdout.trim() === farewell) return { cell: "ok", report: null };
  return { cell: "FAILED", report: `${folder}: ${node} says of ${file}:\n${said}` };
}
