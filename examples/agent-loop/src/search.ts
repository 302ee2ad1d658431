/** Search over a folder of short texts, ranked by the terms they share with the query. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Document {
  readonly file: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
}

export interface Hit {
  readonly file: string;
  readonly title: string;
  /** The paragraph that fits best. */
  readonly excerpt: string;
}

/** Files of a folder as documents: the first line is the title. */
export function readDocuments(folder: string): Document[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".md"));
  return files.toSorted().map((file) => {
    const [title = "", ...paragraphs] = readFileSync(join(folder, file), "utf8")
      .trim()
      .split(/\n{2,}/);
    return {
      file,
      title: title.replace(/^#\s*/, ""),
      paragraphs: paragraphs.map((text) => text.replace(/\s*\n\s*/g, " ")),
    };
  });
}

/** The best documents first, at most `limit`; those that share no term with the query are left out. */
export function search(documents: readonly Document[], query: string, limit = 2): Hit[] {
  const terms = new Set(termsOf(query));
  const weights = new Map([...terms].map((term) => [term, rarity(documents, term)]));
  const score = (text: string): number => {
    let sum = 0;
    for (const [term, count] of countsOf(text)) {
      // Repeated uses of a word count less than the first.
      sum += ((weights.get(term) ?? 0) * count) / (count + 1);
    }
    return sum;
  };
  return documents
    .map((document) => ({
      document,
      // A title describes the whole text.
      score: 2 * score(document.title) + score(document.paragraphs.join(" ")),
    }))
    .filter((found) => found.score > 0)
    .toSorted((a, b) => b.score - a.score || a.document.file.localeCompare(b.document.file))
    .slice(0, limit)
    .map(({ document: { file, title, paragraphs } }) => ({
      file,
      title,
      excerpt: paragraphs.toSorted((a, b) => score(b) - score(a))[0] ?? "",
    }));
}

/** A term that every text has distinguishes none of them. */
function rarity(documents: readonly Document[], term: string): number {
  const having = documents.filter(({ title, paragraphs }) =>
    termsOf([title, ...paragraphs].join(" ")).includes(term),
  );
  return having.length === 0 ? 0 : Math.log(1 + documents.length / having.length);
}

function countsOf(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

const tooCommon = new Set(
  "and are but for from has how its not that the then this was what when why with".split(" "),
);

/** Words in lower case, without endings, so that forms of one word are equal. */
function termsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return words.filter((word) => !tooCommon.has(word)).map((word) => word.replace(/(?:es|s|ing|ed)$/, ""));
}
