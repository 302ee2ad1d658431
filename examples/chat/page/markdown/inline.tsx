/**
 * Text with marks in it: code, bold, italics, links. Everything becomes an element or text of React, and never HTML: what a
 * model writes cannot become part of the page. Proven in test/markdown.test.tsx.
 */

import type { ReactNode } from "react";

const marks =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|__(\S(?:[\s\S]*?\S)?)__(?!\w)|~~(\S(?:[\s\S]*?\S)?)~~|\*(\S(?:[^*]*?\S)?)\*|(?<!\w)_(\S(?:[^_]*?\S)?)_(?!\w)|!?\[([^\]]*)\]\(\s*([^\s)]+)[^)]*\)|(https?:\/\/[^\s<>)\]]*[^\s<>)\].,;:!?'"])|\\([\\`*_{}[\]()#+.!~|>-])/;
/** Longer texts have no marks: the search would take too long. */
const longest = 10_000;

export function inline(text: string, depth = 0): ReactNode {
  if (depth > 4 || text.length > longest) return text;
  const out: ReactNode[] = [];
  let rest = text;
  for (let found = marks.exec(rest); found !== null; found = marks.exec(rest)) {
    out.push(rest.slice(0, found.index), <Mark key={out.length} found={found} depth={depth + 1} />);
    rest = rest.slice(found.index + found[0].length);
  }
  return [...out, rest];
}

function Mark({ found, depth }: { readonly found: RegExpExecArray; readonly depth: number }) {
  const [all, , code, bold, bold2, struck, italic, italic2, label, target, address, escaped] = found;
  if (code !== undefined) return <code>{code.trim() || code}</code>;
  if (escaped !== undefined) return escaped;
  if (struck !== undefined) return <del>{inline(struck, depth)}</del>;
  const strong = bold ?? bold2;
  if (strong !== undefined) return <strong>{inline(strong, depth)}</strong>;
  const leaning = italic ?? italic2;
  if (leaning !== undefined) return <em>{inline(leaning, depth)}</em>;
  const url = target ?? address;
  if (url === undefined) return all;
  const content = label === undefined ? url : inline(label || url, depth);
  return <SafeLink url={url}>{content}</SafeLink>;
}

/** A link of a model or a source. Other schemes than those of the web could run code, and are shown as text. */
export function SafeLink({ url, children }: { readonly url: string; readonly children: ReactNode }) {
  if (!isWeb(url)) return <span>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function isWeb(url: string): boolean {
  return URL.canParse(url) && ["http:", "https:", "mailto:"].includes(new URL(url).protocol);
}
