import { limits } from "@durable/core";
import { defaultLimits } from "@durable/http";
import { describe as group, expect, it } from "vitest";
import { describe, type Api } from "../lib/api.ts";
import { readPages } from "../lib/docs-pages.ts";
import { checkEntries, render, stale, type Sources } from "../lib/reference.ts";
import { exportedNames, referencePages } from "../lib/reference-inputs.ts";
import { checkJournalFormat } from "../lib/reference-journal.ts";
import { screenRows } from "../lib/reference-screen.ts";
import { root } from "../lib/workspace.ts";

/** Declarations as tsc writes them. */
const files: Record<string, string> = {
  "core/index.d.ts": [
    'export { runOf as run, type Options } from "./run.ts";',
    'export type { RunEntry as Entry } from "./entry.ts";',
    'export { Handle } from "./handle.ts";',
  ].join("\n"),
  "core/run.d.ts": [
    "/** What this file is. */",
    'import type { Hidden } from "./hidden.ts";',
    'import type { RunEntry } from "./entry.ts";',
    "/** Options of `run`. */",
    "export interface Options extends Hidden {",
    "    /** Shown; with a semicolon. */",
    "    readonly name?: string;",
    "}",
    "/** Runs it. */",
    "export declare function runOf(name: string): RunEntry;",
    "export declare function runOf({ name }: Options, run?: string): RunEntry;",
  ].join("\n"),
  "core/hidden.d.ts": "export interface Hidden {\n    readonly secret: true;\n}\n",
  "core/entry.d.ts": [
    "/** Inside. */\nexport type Entry<V = string> = { readonly value: V };",
    "/** For users. */\nexport type RunEntry<V = unknown> = Entry<V>;",
  ].join("\n"),
  "core/handle.d.ts": [
    'import type { Hidden } from "./hidden.ts";',
    "/** A handle. */",
    "export declare class Handle {",
    "    #private;",
    "    readonly id: string;",
    "    constructor(hidden: Hidden);",
    "    /** Ends it. */",
    "    end(): void;",
    "}",
  ].join("\n"),
  "http/index.d.ts":
    'import type { Options } from "core";\nexport declare const serve: (options: Options) => void;\n',
};
const entries = [
  { specifier: "core", source: "core/index.d.ts" },
  { specifier: "http", source: "http/index.d.ts" },
];
const read = (changes: Record<string, string> = {}): Api =>
  describe(entries, (file) => ({ ...files, ...changes })[file] ?? "");
const signature = (name: string, specifier = "core"): string =>
  read().get(specifier)?.get(name)?.signature ?? "";

group("exports", () => {
  it("have the names users import, all overloads, and no pattern in their parameters", () => {
    expect(signature("run")).toBe(
      "function run(name: string): Entry;\nfunction run(options: Options, run?: string): Entry;",
    );
  });

  it("show an alias of an inner type as what that is", () => {
    expect(signature("Entry")).toBe("type Entry<V = unknown> = { readonly value: V };");
  });

  it("come with the declarations they need and users cannot import", () => {
    expect(signature("Options")).toMatch(
      /^interface Options extends Hidden \{[^}]*\}\n\n\/\/ Used above, not exported:/,
    );
    expect(signature("Options")).toContain("interface Hidden {\n    readonly secret: true;\n}");
  });

  it("hide private parts, and constructors that only the library can call", () => {
    expect(signature("Handle")).toBe(
      "class Handle {\n    readonly id: string;\n    /** Ends it. */\n    end(): void;\n}",
    );
  });

  it("carry their own doc comment, not the header of their file", () => {
    expect(read().get("core")?.get("Options")?.doc).toBe("Options of `run`.");
    expect(read().get("core")?.get("run")?.doc).toBe("Runs it.");
  });

  it("know which other exports they use, also of other packages", () => {
    expect(read().get("http")?.get("serve")?.uses).toEqual([{ specifier: "core", name: "Options" }]);
  });
});

const names = ["core  value  run", "core  type   Options", "core  type   Entry"];
const page = "# Core\n\n<!-- api core: run, Options, Entry -->\n<!-- end -->\n\nThe end.\n";
const pages = (text: string): Sources => new Map([["docs/reference/core.md", text]]);
const rendered = (text: string, api = read()): string =>
  render(pages(text), api, new Map()).pages.values().next().value ?? "";
const messages = (text: string, exported = names): string[] =>
  checkEntries(pages(text), exported).map(({ message }) => message);

group("pages", () => {
  it("get an entry for each export, and keep what stands around", () => {
    const text = rendered(page);
    expect(text).toContain("### run()\n\nRuns it.\n\n```typescript\nfunction run(");
    expect(text).toContain("See [`Entry`](#entry), [`Options`](#options).");
    expect(text.endsWith("<!-- end -->\n\nThe end.\n")).toBe(true);
    expect(rendered(text)).toBe(text);
    expect(messages(text)).toEqual([]);
  });

  it("D10: an export without an entry, an entry without an export, two entries for one", () => {
    const text = rendered(page);
    expect(messages(text, [...names, "core  type   New"])).toEqual(["core New has no entry"]);
    expect(messages(text, names.slice(1))).toEqual(["core does not export run"]);
    expect(messages(`${text}${text}`)).toContain("run of core has an entry already");
  });

  it("D10: a marker whose entries were not written", () => {
    expect(messages(page)).toEqual([
      "the entries are not those that the marker names: npm run docs:reference",
    ]);
  });

  it("D11: a signature or a comment that has changed", () => {
    const text = rendered(page);
    const changed = (files["core/run.d.ts"] ?? "").replace("(name: string)", "(name: number)");
    const now = render(pages(text), read({ "core/run.d.ts": changed }), new Map());
    expect(stale(pages(text), now.pages)).toEqual([
      {
        file: "docs/reference/core.md",
        line: 10,
        message: "is not what the sources say: npm run docs:reference",
      },
    ]);
  });

  it("D12: an export without a doc comment", () => {
    const { problems } = render(pages("<!-- api http: serve -->\n<!-- end -->\n"), read(), new Map());
    expect(problems.map(({ message }) => message)).toEqual(["serve of http has no doc comment"]);
  });

  it("show the numbers of limits as they are", () => {
    const declared =
      "/** All. */\nexport declare const limits: {\n    /** Size of a body; 1 KiB by default. */\n    readonly bodyBytes: number;\n};\n";
    const api = describe([{ specifier: "core", source: "a.d.ts" }], () => declared);
    const table = (bytes: number): string =>
      render(
        pages("<!-- limits core: limits -->\n<!-- end -->\n"),
        api,
        new Map([["core limits", { bodyBytes: bytes }]]),
      )
        .pages.values()
        .next().value ?? "";
    expect(table(2_048)).toContain("| `bodyBytes` | 2 KiB (2,048) | Size of a body. |");
    expect(table(4_096)).not.toBe(table(2_048));
  });
});

const facts = [
  "type Fact<V> =",
  '  | {\n      readonly kind: "run.ended";\n      /** | a comment */\n      readonly output: V;\n    }',
  '  | ({\n      readonly kind: "a.opened" | "b.opened";\n      readonly input?: string;\n    } & Attempted);',
  "\n// Used above, not exported:\n",
  "interface Called {\n  readonly key: string;\n}\n",
  "interface Attempted extends Called {\n  readonly attempt: number;\n}",
].join("\n");
const rows = [
  "| call | `key` |",
  "| attempt | `attempt` + call |",
  "| `run.ended` | `output` | It ends. |",
  "| `a.opened` | `input?` + attempt | It opens. |",
  "| `b.opened` | `input?` + attempt | It opens. |",
];
const wrong = (...lines: string[]): string[] =>
  checkJournalFormat(lines.join("\n"), facts).map(({ line, message }) => `${line} ${message}`);

group("the journal format", () => {
  it("D13: has every kind with its fields", () => {
    expect(wrong(...rows)).toEqual([]);
  });

  it("D13: fields of an object inside a field, and of another group, are not fields of the kind", () => {
    const signature = [
      "type Fact =",
      '  | ({\n      readonly kind: "a.ended";\n      readonly head: {\n        readonly steps: number;\n      };\n    } & Leftovers)',
      "// Used above, not exported:\n",
      "interface Leftovers {\n  readonly orphans?: readonly string[];\n}",
    ].join("\n");
    const page = ["| leftovers | `orphans?` |", "| `a.ended` | `head` + leftovers | It ends. |"].join("\n");
    expect(checkJournalFormat(page, signature)).toEqual([]);
  });

  it("D13: a kind that is missing, unknown or has other fields", () => {
    expect(wrong(...rows.slice(0, 4))).toEqual(["1 b.opened has no row"]);
    expect(wrong(...rows, "| `c.opened` | `key` | No. |")).toEqual([
      "6 c.opened is unknown, or has a row already",
    ]);
    expect(wrong(...rows.slice(0, 4), "| `b.opened` | `input` + attempt | It opens. |")).toEqual([
      "5 b.opened has the fields `input?` + attempt",
    ]);
  });
});

group("the reference of this workspace", () => {
  const real = referencePages(readPages(root));

  it("has an entry for every public name, and for nothing else", () => {
    expect(checkEntries(real, exportedNames())).toEqual([]);
  });

  it("has the numbers of the limits", () => {
    const text = real.get("docs/reference/limits.md") ?? "";
    const shown = [...text.matchAll(/^\| `(\w+)` \| (?:[\d,]+ [KM]iB \()?([\d,]+)/gm)].map(
      ([, name = "", digits = ""]): [string, number] => [name, Number(digits.replaceAll(",", ""))],
    );
    expect(shown).toEqual([...Object.entries(limits), ...Object.entries(defaultLimits)]);
  });
});

group("the API on one screen", () => {
  const one = { specifier: "x", uses: [], doc: "Runs it. And more.\n@example run(1);" };
  it("has the most general form of a function, and the first sentence", () => {
    const signature =
      "function run<T>(a: T, b: () => void): void;\nfunction run<T = { x: [1, 2] }>({ a }: T, b?: (x: T, y: T) => void): void;";
    expect(screenRows({ ...one, name: "run", kind: "function", signature })).toBe(
      "| `run(options, b?)` | Runs it. |",
    );
  });

  it("has every documented member, static ones under the name of the class", () => {
    const signature = [
      "class Run<T = unknown> {",
      "  /** Opens it: `a | b`. */",
      "  static open(id: string): Run;",
      "  /**\n   * The id. Of the run.\n   */",
      "  readonly id: string;",
      "  /** Begins. */",
      "  start<X>(...args: Arguments<X, O>): void;",
      "  start(): void;",
      "  hidden(): void;",
      "}",
    ].join("\n");
    expect(screenRows({ ...one, name: "Run", kind: "class", signature }).split("\n")).toEqual([
      "| `Run.open(id)` | Opens it: `a \\| b`. |",
      "| `run.id` | The id. |",
      "| `run.start()` | Begins. |",
    ]);
    expect(() => screenRows({ ...one, name: "Other", kind: "class", signature })).toThrow(
      "no name for a Other",
    );
  });
});
