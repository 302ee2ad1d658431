/**
 * The index of the search, as questions need it: words that say nothing are left out, guides come before the reference, and the
 * best place of each page comes before the second place of any.
 */
import MiniSearch, { type Options, type SearchResult } from "../../node_modules/minisearch/dist/es/index.js";

const empty = new Set(
  "a an and are as at be but by can could do does for from had has have how i if in into is it its me my no not of on or our shall should so some than that the their them then there these they this to up us use used using want was we were what when where which while who why will with would you your".split(
    " ",
  ),
);

/** How much pages of a folder count. */
const folders: readonly (readonly [start: string, weight: number])[] = [
  ["/start/", 1.5],
  ["/guides/", 1.5],
  ["/concepts/", 1.3],
  ["/coming-from/", 1.3],
  ["/reference/", 0.4],
];

function weightOf(id: string, titles: unknown): number {
  const folder = folders.find(([start]) => id.startsWith(start))?.[1] ?? 1;
  // The top of a page, where its question stands.
  return Array.isArray(titles) && titles.length === 0 ? folder * 1.5 : folder;
}

/** The places of a page share the part of their id before the anchor. */
function pageOf({ id }: SearchResult): string {
  return String(id).replace(/#.*$/, "");
}

function firstOfEach(results: SearchResult[]): SearchResult[] {
  const seen = new Set<string>();
  const [first, rest]: [SearchResult[], SearchResult[]] = [[], []];
  for (const result of results) {
    (seen.has(pageOf(result)) ? rest : first).push(result);
    seen.add(pageOf(result));
  }
  return [...first, ...rest];
}

// It stands in for a module with a default export.
export default {
  loadJSON(json: string, options: Options): MiniSearch {
    const index = MiniSearch.loadJSON(json, {
      ...options,
      searchOptions: {
        ...options.searchOptions,
        fuzzy: (term) => (term.length > 4 ? 0.15 : false),
        prefix: (term) => term.length > 3,
        boost: { title: 3, titles: 0.3, text: 1 },
        processTerm: (term) => (empty.has(term.toLowerCase()) ? null : term.toLowerCase()),
        boostDocument: (id, _term, stored) => weightOf(String(id), stored?.["titles"]),
      },
    });
    const search = index.search.bind(index);
    index.search = (query, more) => firstOfEach(search(query, more));
    return index;
  },
};
