/**
 * What a page of the documentation may say, as far as text alone can tell.
 *
 * D1. A relative link leads to a file or folder of the repository.
 * D2. An anchor is a heading of the page it names.
 * D3. `npm run x` is a script of the root; with `-w name`, of that workspace.
 * D4. docs/errors.md has a row and a section for every error code, and for nothing else; the messages it
 *     shows in `text` blocks are messages of the code.
 * D10. A page that people read from top to bottom has at most 1,500 words, not counting its code.
 * D14, D15. ARCHITECTURE.md is true: docs-architecture.ts.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { architectureProblems } from "./docs-architecture.ts";
import { readPage, type Page } from "./markdown.ts";

export type Problem = { readonly file: string; readonly line: number; readonly message: string };
export type Pages = ReadonlyMap<string, Page & { readonly source: string }>;

const patterns = ["*.md", "docs/**/*.md", "{packages,examples}/*/README.md", "examples/README.md"];

const mostWords = 1_500;
/** Pages that people search instead of reading them whole. */
const anyLength = [
  "docs/internals/",
  "docs/decisions/",
  "docs/reference/",
  "docs/errors.md",
  // The index.
  "docs/README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
];

/** Every page of the documentation at `base`, by its path. */
export function readPages(base: string): Pages {
  const files = globSync(patterns, { cwd: base }).map((file) => file.split(sep).join("/"));
  return new Map(
    files.toSorted().map((file) => {
      const source = readFileSync(join(base, file), "utf8");
      return [file, { ...readPage(source), source }];
    }),
  );
}

export function checkPages(base: string, pages: Pages): Problem[] {
  const scripts = scriptsOf(base);
  return [...pages].flatMap(([file, page]) => [
    ...page.links.flatMap(({ target, line }) => complaint(base, pages, file, target).map(at(file, line))),
    ...page.source
      .split("\n")
      .flatMap((text, index) => unknownScripts(text, scripts).map(at(file, index + 1))),
    ...(file === "docs/errors.md" ? errorProblems(base, page) : []),
    ...(file === "ARCHITECTURE.md" ? architectureProblems(base, page.source).map(at(file, 1)) : []),
    ...tooLong(file, page).map(at(file, 1)),
  ]);
}

function at(file: string, line: number): (message: string) => Problem {
  return (message) => ({ file, line, message });
}

function complaint(base: string, pages: Pages, file: string, target: string): string[] {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
  const [path = "", anchor] = decodeURI(target).split("#");
  const found =
    path === ""
      ? file
      : normalize(join(dirname(file), path))
          .split(sep)
          .join("/");
  if (found.startsWith("..") || !existsSync(join(base, found))) return [`${target}: there is no ${found}`];
  if (anchor === undefined) return [];
  const page = pages.get(found);
  return page === undefined || page.anchors.has(anchor) ? [] : [`${target}: ${found} has no such heading`];
}

function tooLong(file: string, { words }: Page): string[] {
  if (words <= mostWords || anyLength.some((path) => file.startsWith(path))) return [];
  return [`the page has ${words} words, and the limit is ${mostWords}: split it`];
}

/** Script names by workspace; the root's under the empty name. */
function scriptsOf(base: string): ReadonlyMap<string, ReadonlySet<string>> {
  const manifests = globSync(["package.json", "{packages,examples}/*/package.json"], { cwd: base });
  return new Map(
    manifests.map((file) => {
      const manifest = JSON.parse(readFileSync(join(base, file), "utf8")) as {
        name: string;
        scripts?: Record<string, string>;
      };
      return [file === "package.json" ? "" : manifest.name, new Set(Object.keys(manifest.scripts ?? {}))];
    }),
  );
}

function unknownScripts(text: string, scripts: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...text.matchAll(/\bnpm (?:run ([\w:.-]+)|(test)\b)([^`#\n]*)/g)].flatMap(
    ([, named, test, rest = ""]) => {
      const script = named ?? test ?? "";
      const workspace = /(?:-w|--workspace)[ =](\S+)/.exec(rest.split(" -- ")[0] ?? "")?.[1] ?? "";
      // A placeholder such as example-<name> stands for many.
      if (workspace.includes("<") || scripts.get(workspace)?.has(script) === true) return [];
      return [`there is no script "${script}" in ${workspace === "" ? "the root package.json" : workspace}`];
    },
  );
}

function errorProblems(base: string, { source, blocks }: Page & { readonly source: string }): Problem[] {
  const file = "docs/errors.md";
  const core = join(base, "packages", "core", "src");
  const list =
    /errorCodes = \[([^\]]*)\]/.exec(readFileSync(join(core, "values", "errors.ts"), "utf8"))?.[1] ?? "";
  const known = [...list.matchAll(/"([^"]+)"/g)].map(([, code = ""]) => code);
  const said = globSync("**/*.ts", { cwd: core }).flatMap((name) =>
    messagesIn(readFileSync(join(core, name), "utf8")),
  );
  const invented = blocks.filter(
    ({ info, text }) => info[0] === "text" && !said.some((message) => message.test(text)),
  );
  return [
    ...compare("row", known, [...source.matchAll(/^\| \[`([\w-]+)`\]/gm)]).map(at(file, 1)),
    ...compare("section", known, [...source.matchAll(/^### ([\w-]+)$/gm)]).map(at(file, 1)),
    ...invented.map(({ line }) =>
      at(file, line)("the code has no such message (any more): copy it from packages/core/src"),
    ),
  ];
}

/** What stands in a template between its texts; it may have a template of its own. */
const inserted = /\$\{(?:[^{}`]|`(?:[^`$]|\$\{[^{}`]*\})*`)*\}/;
const literal = new RegExp(`\`((?:[^\`\\\\$]|\\\\.|${inserted.source})+)\`|"((?:[^"\\\\\\n]|\\\\.)*)"`, "g");

/** Texts and templates of a source file that are long enough to be messages, as patterns. */
function messagesIn(source: string): RegExp[] {
  return [...source.matchAll(literal)].flatMap(([, template, text = ""]) => {
    const parts = (template ?? text).replaceAll(/\\(.)/g, "$1").split(inserted);
    if (parts.join("").length < 12) return [];
    return [new RegExp(`^${parts.map(literally).join(".*?")}$`)];
  });
}

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

function compare(what: string, known: readonly string[], matches: readonly RegExpMatchArray[]): string[] {
  const found = matches.map(([, code = ""]) => code);
  return [
    ...known.filter((code) => !found.includes(code)).map((code) => `${code} has no ${what}`),
    ...found
      .filter((code, i) => !known.includes(code) || found.indexOf(code) !== i)
      .map((code) => `${code} has a ${what}, and is unknown or there twice`),
  ];
}
