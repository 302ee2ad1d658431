/** What the checks need of a Markdown page, read line by line: fences, links, headings, words. */

export type Block = {
  /** The words after the opening fence: language first. */
  readonly info: readonly string[];
  readonly text: string;
  /** The page's line on which the block's first line stands. */
  readonly line: number;
};

export type Link = { readonly target: string; readonly line: number };

export type Page = {
  readonly blocks: readonly Block[];
  readonly links: readonly Link[];
  /** Every anchor a link may name. */
  readonly anchors: ReadonlySet<string>;
  /** Words outside fences. */
  readonly words: number;
};

const fence = /^ {0,3}(`{3,}|~{3,})\s*(.*)$/;
/** Code, which has no links; or what comes before the target of a link, and the target. */
const codeOrLink =
  /`[^`]*`|(\]\(\s*<?(?=[^\s()<>]+>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\))|^ {0,3}\[[^\]]+\]:\s*<?)([^\s()<>]+)/g;
const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const namedAnchor = /<a\s+(?:id|name)="([^"]+)"/g;

export function readPage(source: string): Page {
  const blocks: Block[] = [];
  const links: Link[] = [];
  const anchors = new Set<string>();
  let words = 0;
  let open: { mark: string; info: string[]; from: number } | null = null;
  const lines = source.split("\n");
  lines.forEach((text, index) => {
    const [, mark = "", rest = ""] = fence.exec(text) ?? [];
    if (open !== null) {
      if (rest !== "" || !mark.startsWith(open.mark)) return;
      const body = lines.slice(open.from, index).join("\n");
      blocks.push({ info: open.info, text: body, line: open.from + 1 });
      open = null;
    } else if (mark !== "") {
      open = { mark, info: rest.split(/\s+/), from: index + 1 };
    } else {
      readProse(text, index + 1, links, anchors);
      words += wordsIn(text);
    }
  });
  return { blocks, links, anchors, words };
}

/** Marks of tables, lists and headings are not words. */
function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

function readProse(text: string, line: number, links: Link[], anchors: Set<string>): void {
  const title = heading.exec(text)?.[1];
  if (title !== undefined) anchors.add(unused(slug(title), anchors));
  for (const [, name = ""] of text.matchAll(namedAnchor)) anchors.add(name);
  for (const [, , target] of text.matchAll(codeOrLink))
    if (target !== undefined) links.push({ target, line });
}

/** The same page with other targets of its links. Code is left as it is. */
export function replaceLinks(source: string, replace: (target: string) => string): string {
  const lines = source.split("\n");
  for (const line of new Set(readPage(source).links.map(({ line }) => line)))
    lines[line - 1] = (lines[line - 1] ?? "").replaceAll(
      codeOrLink,
      (text: string, before?: string, target?: string) =>
        target === undefined ? text : `${before}${replace(target)}`,
    );
  return lines.join("\n");
}

/** A heading's anchor, as GitHub makes it. */
export function slug(title: string): string {
  return title
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

function unused(anchor: string, taken: ReadonlySet<string>): string {
  for (let n = 0; ; n++) {
    const candidate = n === 0 ? anchor : `${anchor}-${n}`;
    if (!taken.has(candidate)) return candidate;
  }
}
