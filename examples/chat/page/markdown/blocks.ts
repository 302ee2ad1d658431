/**
 * Markdown as models write it, as a tree: headings, lists, tables, quotes, code and rules. Text that is still being written is
 * Markdown, too: a fence that is open is code. Proven in test/markdown.test.tsx.
 */

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | {
      readonly kind: "list";
      /** The number of the first item; `null` for one with dots. */
      readonly start: number | null;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "rule" };

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const item = /^( *)([-*+]|\d{1,9}[.)])\s+/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}([-*_])( *\1){2,} *$/;
const divider = /^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;
/** Quotes and lists in each other: more is text. */
const deepest = 8;

export function blocksOf(markdown: string, depth = 0): readonly Block[] {
  const lines = markdown.replaceAll("\t", "    ").split(/\r?\n/);
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const [block, next] = blockAt(lines, at, depth);
    if (block !== null) blocks.push(block);
    at = next;
  }
  return blocks;
}

function blockAt(lines: readonly string[], at: number, depth: number): readonly [Block | null, number] {
  const line = lines[at] ?? "";
  if (line.trim() === "") return [null, at + 1];
  if (fence.test(line)) return codeAt(lines, at);
  const [, marks = "", title = ""] = heading.exec(line) ?? [];
  if (marks !== "") return [{ kind: "heading", level: marks.length, text: title }, at + 1];
  if (rule.test(line)) return [{ kind: "rule" }, at + 1];
  if (line.includes("|") && divider.test(lines[at + 1] ?? "")) return tableAt(lines, at);
  if (depth < deepest && /^ {0,3}>/.test(line)) {
    const end = endOf(lines, at, (one) => /^ {0,3}>/.test(one));
    const inner = lines.slice(at, end).map((one) => one.replace(/^ {0,3}> ?/, ""));
    return [{ kind: "quote", blocks: blocksOf(inner.join("\n"), depth + 1) }, end];
  }
  if (depth < deepest && item.test(line)) return listAt(lines, at, depth);
  const end = endOf(lines, at + 1, (one) => one.trim() !== "" && !beginsBlock(one));
  return [{ kind: "text", text: lines.slice(at, end).join("\n").trim() }, end];
}

function codeAt(lines: readonly string[], at: number): readonly [Block, number] {
  const [, mark = "", language = ""] = fence.exec(lines[at] ?? "") ?? [];
  const end = endOf(lines, at + 1, (one) => {
    const text = one.trim();
    return !(text.startsWith(mark) && text.replaceAll(mark.charAt(0), "") === "");
  });
  return [{ kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function tableAt(lines: readonly string[], at: number): readonly [Block, number] {
  const end = endOf(lines, at + 2, (one) => one.includes("|"));
  const head = cellsOf(lines[at] ?? "");
  return [{ kind: "table", head, rows: lines.slice(at + 2, end).map(cellsOf) }, end];
}

function cellsOf(line: string): readonly string[] {
  const cells = line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return cells.map((cell) => cell.trim());
}

function listAt(lines: readonly string[], at: number, depth: number): readonly [Block, number] {
  const [, indent = "", mark = ""] = item.exec(lines[at] ?? "") ?? [];
  const isNumbered = /\d/.test(mark);
  const isMine = (line: string): boolean => {
    const [, own = "", sign = ""] = item.exec(line) ?? [];
    return sign !== "" && own.length === indent.length && /\d/.test(sign) === isNumbered;
  };
  const items: (readonly Block[])[] = [];
  let next = at;
  while (isMine(lines[next] ?? "")) {
    const first = lines[next] ?? "";
    const width = (item.exec(first)?.[0] ?? "").length;
    const end = endOf(lines, next + 1, (one) => one.trim() === "" || one.search(/\S/) > indent.length);
    const inner = lines.slice(next + 1, end).map((one) => one.slice(Math.min(width, one.search(/\S|$/))));
    items.push(blocksOf([first.slice(width), ...inner].join("\n"), depth + 1));
    next = end;
  }
  return [{ kind: "list", start: isNumbered ? Number.parseInt(mark, 10) : null, items }, next];
}

function beginsBlock(line: string): boolean {
  return (
    fence.test(line) || heading.test(line) || item.test(line) || rule.test(line) || /^ {0,3}>/.test(line)
  );
}

function endOf(lines: readonly string[], from: number, isInside: (line: string) => boolean): number {
  let end = from;
  while (end < lines.length && isInside(lines[end] ?? "")) end += 1;
  return end;
}
