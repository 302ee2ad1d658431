/**
 * How a search that is being typed may go on: names of fields, and values that runs have.
 *
 * suggest.1. Only the last value of the text is completed. The text before it stays as it was typed.
 * suggest.2. As many heads are read as for two pages of a list, whatever the number of runs, and no journal.
 */

import type { ListPage, RunHead } from "../ports/storage.ts";
import { hostOf } from "../runs/host.ts";
import type { ListedRun } from "../runs/list.ts";
import { searchFields, searchStatuses, searchValue, type SearchField } from "./search.ts";

/** How a text may go on. */
export interface SearchSuggestions {
  /** Where the part that is completed begins. */
  readonly at: number;
  /** What can stand in its place, the likeliest first. */
  readonly parts: readonly string[];
}

/** The newest runs, and those with an id, a label or a tag that begins with the text. */
type Asked = { readonly limit: number; readonly q?: string };
type Read = (query: Asked) => Promise<readonly RunHead[]>;

/** An app, or what else lists runs. */
interface Lists {
  readonly list: (query: Asked) => Promise<ListPage<ListedRun>>;
}

/**
 * How a search that is being typed may go on: names of fields, and values that runs have. `seen` leaves out runs that a reader
 * may not see.
 */
export async function suggestSearch(
  app: Lists,
  text: string,
  seen: (runs: readonly ListedRun[]) => Promise<readonly ListedRun[]> = async (runs) => runs,
): Promise<SearchSuggestions> {
  const { finds = false } = await hostOf(app).storage();
  return suggestionsIn(text, async (query) => seen((await app.list(query)).runs), finds);
}

const [newest, alike, most] = [200, 50, 12];

/** Values that are the same for all runs. */
const fixed: Readonly<Partial<Record<SearchField, readonly string[]>>> = {
  status: searchStatuses,
  waiting: ["yes"],
  since: ["1h", "24h", "7d", "30d"],
  until: ["1h", "24h", "7d", "30d"],
};

const ofRuns: Readonly<
  Partial<Record<SearchField, (head: RunHead) => readonly (string | null | undefined)[]>>
> = {
  workflow: ({ workflow }) => [workflow],
  tag: ({ tags }) => Object.entries(tags ?? {}).map(([name, value]) => `${name}=${value}`),
  version: ({ version }) => [version],
  label: ({ label }) => [label],
  error: ({ error, blocked }) => [error?.code, blocked?.code, error?.message],
  score: ({ scores }) => Object.keys(scores ?? {}),
  model: ({ usage = [] }) => usage.map(({ model }) => model),
  step: ({ usage = [] }) => usage.map(({ label }) => label),
  parent: ({ parent }) => [parent],
  q: ({ runId }) => [runId],
};

/** How the end of this text may go on, from what is read. */
async function suggestionsIn(text: string, read: Read, finds: boolean): Promise<SearchSuggestions> {
  const { at, field, before, typed } = lastPart(text);
  const q = typed.replace(/^.*=/s, "");
  const isNamed = field !== undefined && ofRuns[field] === undefined;
  const pages = isNamed
    ? []
    : await Promise.all([read({ limit: newest }), ...(finds && q !== "" ? [read({ limit: alike, q })] : [])]);
  const heads = new Map(pages.flat().map((head) => [head.runId, head]));
  const names = searchFields.filter((name) => name.startsWith(typed.toLowerCase()));
  const parts =
    field === undefined
      ? [
          ...names.map((name) => (name === "cost" ? "cost>" : `${name}:`)),
          ...valuesLike(typed, [...heads.values()]),
        ]
      : valuesOf(field, typed, [...heads.values()]).map((value) => `${before}${searchValue(value)}`);
  return { at, parts: parts.filter((part) => part !== text.slice(at)).slice(0, most) };
}

/** The last part of a text, and of a list of values the last one. */
function lastPart(text: string): {
  readonly at: number;
  readonly field: SearchField | undefined;
  readonly before: string;
  readonly typed: string;
} {
  let [at, value, quoted] = [0, 0, false];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') quoted = !quoted;
    else if (!quoted && /\s/.test(text.charAt(i))) at = value = i + 1;
    else if (!quoted && text[i] === ",") value = i + 1;
  }
  const [head = "", name = ""] = /^([a-z]+):/i.exec(text.slice(at)) ?? [];
  const field = searchFields.find((each) => each === name.toLowerCase());
  if (field === undefined) return { at, field, before: "", typed: text.slice(at).replaceAll('"', "") };
  value = Math.max(value, at + head.length);
  return { at, field, before: text.slice(at, value), typed: text.slice(value).replaceAll('"', "") };
}

/** Values of a field that begin with a text, and then those that have it; each the more runs have it the earlier. */
function valuesOf(field: SearchField, typed: string, heads: readonly RunHead[]): string[] {
  const counts = new Map((fixed[field] ?? []).map((value) => [value, 0]));
  for (const head of heads)
    for (const value of ofRuns[field]?.(head) ?? [])
      if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  const wanted = typed.toLowerCase();
  const place = (value: string): number => {
    const text = value.toLowerCase();
    if (text.startsWith(wanted) || text.includes(`=${wanted}`)) return 0;
    return text.includes(wanted) ? 1 : 2;
  };
  return [...counts]
    .filter(([value]) => place(value) < 2)
    .toSorted(([a, first], [b, second]) => place(a) - place(b) || second - first)
    .map(([value]) => value);
}

/** A word may be the value of a field. */
function valuesLike(word: string, heads: readonly RunHead[]): string[] {
  if (word === "") return [];
  return (["status", "workflow", "tag", "label", "version", "model"] as const).flatMap((field) =>
    valuesOf(field, word, heads)
      .slice(0, 4)
      .map((value) => `${field}:${searchValue(value)}`),
  );
}
