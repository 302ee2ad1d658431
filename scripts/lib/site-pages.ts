/**
 * The pages of the site: those of docs/, the pictures of the benchmarks, and the pages of its own. Links that lead out of the
 * documentation lead to the repository.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { replaceLinks } from "./markdown.ts";
import { root } from "./workspace.ts";

/** Where the generated pages are, for the generator of the site. */
export const pagesFolder = join(root, "site", ".pages");

const repository = "https://github.com/durable-workflow/durable";

/** Pages outside of docs/ that the site has, too, and the pages whose names would be those of others. */
const moved: Readonly<Record<string, string>> = {
  "docs/README.md": "docs.md",
  "bench/README.md": "benchmarks.md",
  "CHANGELOG.md": "changelog.md",
};

/** Guides with a playground, and its program. */
const played: Readonly<Record<string, string>> = {
  "docs/guides/write/forking.md": "story",
  "docs/guides/write/human-review.md": "approval",
  "docs/guides/write/undoing-work.md": "saga",
};

/** The address of a page of the repository in the site, without its end; `null` for a file that is no page. */
export function pageOf(path: string): string | null {
  const own = moved[path];
  if (own !== undefined) return own;
  if (!path.startsWith("docs/") || !path.endsWith(".md")) return null;
  return path.slice("docs/".length).replace(/(^|\/)README\.md$/, "$1index.md");
}

/** The target of a link on a page, for the site. */
export function siteLink(path: string, target: string): string {
  if (/^[a-z]+:|^#/.test(target)) return target;
  const [, file = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(target) ?? [];
  const found = posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, "");
  const isFolder = existsSync(join(root, found)) && statSync(join(root, found)).isDirectory();
  const page = pageOf(isFolder ? `${found}/README.md` : found);
  if (page !== null && existsSync(join(root, isFolder ? `${found}/README.md` : found)))
    return `/${page}${anchor}`;
  if (found.startsWith("docs/images/")) return `/${found.slice("docs/".length)}`;
  return `${repository}/${isFolder ? "tree" : "blob"}/main/${found}${anchor}`;
}

/** The question that a page answers, by its path in docs/, as the table of contents has it. */
export function questions(): ReadonlyMap<string, string> {
  const rows = contents().flatMap(({ pages }) => pages);
  return new Map(rows.map(({ link, question }) => [link, question]));
}

export interface Contents {
  readonly title: string;
  readonly pages: readonly { readonly text: string; readonly link: string; readonly question: string }[];
}

/** The table of contents, from the tables of docs/README.md and docs/reference/README.md. */
export function contents(): Contents[] {
  return [...tablesOf("docs/README.md"), ...tablesOf("docs/reference/README.md")].filter(
    ({ pages }) => pages.length > 0,
  );
}

function tablesOf(path: string): Contents[] {
  const groups: { title: string; pages: Contents["pages"][number][] }[] = [];
  for (const line of readFileSync(join(root, path), "utf8").split("\n")) {
    const heading = /^#{1,3} (.*)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push({ title: heading, pages: [] });
    const cells = /^\| (.+) \|$/.exec(line)?.[1]?.split(" | ") ?? [];
    const cell = cells.find((text) => /^\[[^\]]+\]\([^)]+\.md\)$/.test(text));
    const [, text = "", target = ""] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(cell ?? "") ?? [];
    if (text === "") continue;
    const question = cells.filter((other) => other !== cell && !other.startsWith("`")).join(" ");
    groups.at(-1)?.pages.push({ text, link: siteLink(path, target).replace(/\.md$/, ""), question });
  }
  return groups;
}

/** Writes all pages anew, and returns how many there are. */
export function writePages(): number {
  rmSync(pagesFolder, { recursive: true, force: true, maxRetries: 5 });
  cpSync(join(root, "site", "pages"), pagesFolder, { recursive: true });
  cpSync(join(root, "docs", "images"), join(pagesFolder, "images"), { recursive: true });
  const paths = [...Object.keys(moved), ...markdownIn("docs")].filter(
    (path, n, all) => all.indexOf(path) === n,
  );
  for (const path of paths) {
    const file = join(pagesFolder, pageOf(path) ?? "");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, siteText(path, readFileSync(join(root, path), "utf8")));
  }
  return markdownIn("site/.pages").length;
}

/** The text of a page, for the site. */
function siteText(path: string, source: string): string {
  // The generator knows no language of this name.
  const text = replaceLinks(source, (target) => siteLink(path, target)).replaceAll(
    /^```output\b/gm,
    "```txt",
  );
  const program = played[path];
  if (program !== undefined)
    return text.replace(/\n(?=```ts)/, `\n<Playground program="${program}" folded />\n\n`);
  return path === "bench/README.md" ? `${text}\n${pictures()}` : text;
}

/** The pictures of the benchmarks, the latest first. */
function pictures(): string {
  const folder = join(root, "bench", "results");
  const files = readdirSync(folder).filter((name) => name.endsWith(".svg"));
  const shown = files
    .toSorted()
    .toReversed()
    .map((name) => {
      cpSync(join(folder, name), join(pagesFolder, "images", name));
      return `### ${name.replace(/\.svg$/, "")}\n\n![Results of ${name.replace(/\.svg$/, "")}](/images/${name})\n`;
    });
  return `\n## Pictures\n\n${shown.join("\n")}`;
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".md"));
}
