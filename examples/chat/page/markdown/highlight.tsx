/** Colours for code: comments, texts, numbers and words that most languages know. Proven in test/markdown.test.tsx. */

import type { ReactNode } from "react";

const words =
  "abstract as async await bool break case catch class const continue def default defer delete do elif else enum export extends extern false final finally fn for foreach from func function if impl implements import in instanceof int interface is lambda let loop match mod module mut namespace new nil none not null of or package pass private protected public pub raise readonly return self select static struct super switch this throw throws trait true try type typeof undefined union unless until use using var void where while with yield None True False SELECT FROM WHERE INSERT INTO UPDATE SET DELETE CREATE TABLE JOIN ON AND OR NOT NULL VALUES ORDER BY GROUP LIMIT";
const keywords = new Set(words.split(" "));
const hashes = /^(?:python|py|sh|bash|shell|zsh|ruby|rb|yaml|yml|toml|r|perl|dockerfile|make|makefile)$/i;

const token =
  /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|<!--[\s\S]*?(?:-->|$))|(#[^\n]*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)|(\b\d[\w.]*)|([A-Za-z_$][\w$]*)/g;
/** Longer code is shown without colours. */
const longest = 50_000;

export function highlight(code: string, language: string): ReactNode {
  if (language === "" || language === "text" || code.length > longest) return code;
  const out: ReactNode[] = [];
  let end = 0;
  for (const found of code.matchAll(token)) {
    const kind = kindOf(found, language);
    if (kind === null) continue;
    const span = (
      <span key={out.length} className={`tok-${kind}`}>
        {found[0]}
      </span>
    );
    out.push(code.slice(end, found.index), span);
    end = found.index + found[0].length;
  }
  return [...out, code.slice(end)];
}

function kindOf([, comment, hash, text, number, word]: RegExpExecArray, language: string): string | null {
  if (comment !== undefined || (hash !== undefined && hashes.test(language))) return "comment";
  if (text !== undefined) return "string";
  if (number !== undefined) return "number";
  return word !== undefined && keywords.has(word) ? "keyword" : null;
}
