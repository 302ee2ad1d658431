import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, globSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { joinDeclarations } from "../lib/declarations.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function dist(files: Readonly<Record<string, string>>): string {
  const base = mkdtempSync(join(tmpdir(), "declarations-"));
  folders.push(base);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return base;
}

/** The files of declarations that are left, with their lines. */
function joined(files: Readonly<Record<string, string>>, entries: string[]): Record<string, string[]> {
  const base = dist(files);
  joinDeclarations(base, entries);
  const paths = globSync("**/*.d.ts", { cwd: base });
  return Object.fromEntries(
    paths.map((path) => [path, readFileSync(join(base, path), "utf8").trimEnd().split("\n")]),
  );
}

test("one file has what the entries lead to, over any number of files, and nothing else", () => {
  const result = joined(
    {
      "index.d.ts": '/** The entry. */\nexport type { A } from "./rooms/a.ts";\n',
      "sub/two.d.ts": 'import { two as inner } from "../two.ts";\nexport { inner as pair };\n',
      "rooms/a.d.ts":
        'import { X } from "other";\nimport "./side.ts";\n/** An A. */\nexport type A = import("../far.ts").Far | X;\n',
      "rooms/side.d.ts": "export {};\n",
      "far.d.ts": "type Near = 1;\nexport type Far = `${Near} far`;\nexport type Lost = 2;\n",
      "two.d.ts": "export declare const two: 2;\nexport declare const three: 3;\n",
    },
    ["index.d.ts", "sub/two.d.ts"],
  );
  expect(result).toEqual({
    "index.d.ts": ['export { A } from "./declarations.js";'],
    "sub/two.d.ts": ['export { pair } from "../declarations.js";'],
    "declarations.d.ts": [
      'import { X } from "other";',
      "/** An A. */",
      "type A = Far | X;",
      "declare const pair: 2;",
      "type Far = `${Near} far`;",
      "type Near = 1;",
      "export { A, pair };",
    ],
  });
});

test("names that two files declare differ, and properties and parameters keep theirs", () => {
  const result = joined(
    {
      "index.d.ts": 'export { open } from "./a.ts";\nexport type { Options } from "./b.ts";\n',
      "a.d.ts": [
        'import type { Options as Others } from "./b.ts";',
        "type Options = Others & { readonly Options: Options; fits: typeof fits };",
        "declare function fits(fits: number): boolean;",
        "/** First. */",
        "export declare function open(options: Options): typeof fits;",
        "/** Second. */",
        "export declare function open(): void;",
        "",
      ].join("\n"),
      "b.d.ts": "export interface Options {\n    fits: 2;\n}\n",
    },
    ["index.d.ts"],
  );
  expect(result["declarations.d.ts"]).toEqual([
    "/** First. */",
    "declare function open(options: InnerOptions): typeof fits;",
    "/** Second. */",
    "declare function open(): void;",
    "interface Options {",
    "\tfits: 2;",
    "}",
    "type InnerOptions = Options & { readonly Options: InnerOptions; fits: typeof fits };",
    "declare function fits(fits: number): boolean;",
    "export { open, Options };",
  ]);
});

test("a class stays a type where it leaves as a type, and hides a constructor that takes what only the library makes", () => {
  const result = joined(
    {
      "index.d.ts": 'export type { Run } from "./run.ts";\nexport { Store } from "./run.ts";\n',
      "run.d.ts": [
        "declare class Host {\n    name: string;\n}",
        "export declare class Run {\n    constructor(id: string, parts: {\n        host: Host;\n    });\n}",
        "export declare class Store {\n    constructor(run: Run);\n}\n",
      ].join("\n"),
    },
    ["index.d.ts"],
  );
  expect(result["index.d.ts"]).toEqual(['export { type Run, Store } from "./declarations.js";']);
  expect(result["declarations.d.ts"]?.join(" ")).toBe(
    "declare class Run { \tprivate constructor(); } declare class Store { \tconstructor(run: Run); } export { Run, Store };",
  );
});

test("an entry that tsc did not write is an error, and so is a name that is declared nowhere", () => {
  expect(() => joined({}, ["missing.d.ts"])).toThrow("missing.d.ts");
  expect(() =>
    joined({ "index.d.ts": 'export { a } from "./b.ts";\n', "b.d.ts": "" }, ["index.d.ts"]),
  ).toThrow("b.d.ts does not export a");
});

test("types of Node are refused: a page that imports another entry of the package would need them", () => {
  const files = {
    "index.d.ts": "export declare const one: 1;\n",
    "node.d.ts": 'import type { Server } from "node:http";\nexport declare const open: () => Server;\n',
  };
  expect(() => joined(files, ["index.d.ts", "node.d.ts"])).toThrow(
    "node.d.ts takes Server of node:http into the declarations",
  );
});
