import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { oldNodes, settings, table } from "../lib/consumer-matrix.ts";
import { successLine, programFiles, refusedFiles } from "../lib/consumer-program.ts";
import { compile, runProgram } from "../lib/consumer-trial.ts";
import { clientDamages, compileDamaged } from "../lib/consumer-types.ts";
import { publicEntries } from "../lib/public-names.ts";
import { listPackages, root } from "../lib/workspace.ts";

const home = mkdtempSync(join(tmpdir(), "durable-consumers-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
let folders = 0;
const folder = (): string => join(home, `project-${(folders += 1)}`);

const entries = listPackages().flatMap(publicEntries);
const compiler = join(root, "node_modules", "typescript");

describe("the program", () => {
  it.each(["import", "require()", "import()"] as const)("names all that is public, by %s", (style) => {
    const files = Object.values(programFiles(entries, style)).join("\n");
    for (const { specifier, names } of entries) {
      expect(files).toContain(`"${specifier}"`);
      for (const { name } of names) expect(files, specifier).toMatch(new RegExp(`\\b${name}\\b`));
    }
  });

  it("does something with every entry point that needs no test runner", () => {
    const main = programFiles(entries, "import")["main.mts"] ?? "";
    const missing = entries.filter(({ specifier }) => !main.includes(`from "${specifier}"`));
    // The check leaves the first out, because the declarations of its peer do not compile everywhere.
    expect(missing.map(({ specifier }) => specifier).toSorted()).toEqual([
      "@durable/openai-agents",
      "@durable/testing/conformance",
    ]);
  });

  it("requires in a CommonJS file where it may, and nowhere else", () => {
    const dynamic = programFiles(entries, "import()");
    expect(Object.keys(dynamic)[0]).toBe("main.cts");
    expect(dynamic["main.cts"]).not.toMatch(/^import \{[^}]*\} from "@durable/m);
    expect(programFiles(entries, "require()")["main.cts"]).toMatch(/^import \{[^}]*\} from "@durable/m);
  });
});

describe("a trial", () => {
  const resolution = "nodenext" as const;
  const trial = (source: string, expected: "compiles" | "TS2322") => {
    mkdirSync(join(home, "node_modules", "@types", "node"), { recursive: true });
    writeFileSync(
      join(home, "node_modules", "@types", "node", "index.d.ts"),
      "declare const console: any;\n",
    );
    const place = folder();
    return { place, ...compile(place, { files: { "main.mts": source }, compiler, resolution, expected }) };
  };

  it("compiles and runs a sound program", () => {
    const { place, cell } = trial(`console.log(${JSON.stringify(successLine)}); export {};`, "compiles");
    expect(cell).toBe("ok");
    expect(runProgram(place, "main.mjs", process.execPath)).toEqual({ cell: "ok", report: null });
  });

  it("fails by an error of the compiler, and shows it", () => {
    const { cell, report } = trial("export const one: string = 1;", "compiles");
    expect(cell).toBe("FAILED");
    expect(report).toContain("TS2322");
  });

  it("accepts the refusal it expects, and neither consent nor another one", () => {
    expect(trial("export const one: string = 1;", "TS2322").cell).toBe("refuses (TS2322)");
    expect(trial("export const one: string = '1';", "TS2322").cell).toBe("FAILED");
    expect(trial("export const one: string = 1; export const two = three;", "TS2322").cell).toBe("FAILED");
  });

  it.each([
    ["throws", "throw new Error('no such luck');", "no such luck"],
    ["ends too early", "await new Promise(() => {});", ""],
    ["says something else", "console.log('hello');", "hello"],
  ])("fails by a program that %s", (_, source, said) => {
    const { place, cell } = trial(`${source} export {};`, "compiles");
    expect(cell).toBe("ok");
    const { cell: ran, report } = runProgram(place, "main.mjs", process.execPath);
    expect(ran).toBe("FAILED");
    expect(report).toContain(said);
  });
});

describe("assertions about types", () => {
  const text = [
    'import type { Told } from "@durable/http/client";',
    'export const told: Told = "yes";',
    "// @ts-expect-error It is a text.",
    "export const wrong: Told = 1;",
  ].join("\n");
  const declarations = { "client.d.ts": "export type Told = string;\n" };
  const tried = (assertions: string, by: string) =>
    compileDamaged(folder(), {
      compiler,
      assertions,
      specifier: "@durable/http/client",
      declarations,
      damages: { "all fits": [/string/, by] },
    });

  it("must fail by every damage, and by nothing else", () => {
    mkdirSync(join(home, "node_modules", "@types", "node"), { recursive: true });
    writeFileSync(join(home, "node_modules", "@types", "node", "index.d.ts"), "");
    expect(tried(text, "any")).toEqual({ cell: "refuses all 1", report: null });
    const unnoticed = tried(text.split("\n").slice(0, 2).join("\n"), "any");
    expect(unnoticed.cell).toBe("FAILED");
    expect(unnoticed.report).toContain("damages without an error: all fits");
    const always = tried(`${text}\nexport const two = three;`, "any");
    expect(always.cell).toBe("FAILED");
    expect(always.report).toContain("damages without an error: none");
    expect(() => tried(text, "string")).toThrow('"all fits" changes nothing');
  });

  it("are damaged where the sources of the client say it", () => {
    const source = readFileSync(join(root, "packages/http/src/client/types.ts"), "utf8");
    const line = source.replaceAll(/\s+/g, " ");
    for (const [name, [found, by]] of Object.entries(clientDamages))
      expect(line.replace(found, by) !== line, name).toBe(true);
  });
});

describe("the matrix", () => {
  it("has every TypeScript from 5.7 to 7", () => {
    expect([...new Set(settings.map(({ typescript }) => typescript))]).toEqual([
      "5.7",
      "5.8",
      "5.9",
      "6.0",
      "7.0.2",
    ]);
  });

  it("has every platform that the workspace brings a Node for", () => {
    const platforms = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"];
    expect(Object.keys(oldNodes).toSorted()).toEqual(platforms);
  });

  it("tries both kinds of modules under both settings of Node, and a bundler", () => {
    for (const typescript of ["5.9", "7.0.2"]) {
      const own = settings.filter((setting) => setting.typescript === typescript);
      expect(own.map(({ resolution }) => resolution)).toEqual(["node16", "nodenext", "bundler"]);
      expect(own.map(({ programs }) => Object.keys(programs).length)).toEqual([3, 2, 1]);
    }
    expect(Object.keys(refusedFiles)).toEqual(["main.cts"]);
  });

  it("is shown in columns", () => {
    expect(
      table([
        ["a", "bb"],
        ["ccc", "d"],
      ]),
    ).toBe("a    bb\nccc  d");
  });
});
