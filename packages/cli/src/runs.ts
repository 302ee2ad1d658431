/** Finds runs: by a reference of one run, and by a filter. */

import type { App, Duration, ListedRun, RunHead } from "@durable/core";
import {
  readSearch,
  runSearch,
  storageOf,
  type RunSearch,
  type SearchContext,
  type SearchTerms,
} from "@durable/core/inspect";
import { toMs } from "@durable/core/storage";
import type { CommandContext, Flags } from "./command.ts";
import { CliError, exit } from "./exit.ts";
import type { Session } from "./session.ts";

/** How many runs a search by part of an id reads at most. */
const searched = 20_000;
const page = 500;

/** Words for a run, in place of its id, and the searches whose first run they are. */
export const marks: Readonly<Record<string, string>> = {
  "@last": "",
  "@failed": "status:failed",
  "@waiting": "waiting:yes",
  "@suspended": "status:suspended",
  "@paused": "status:paused",
  "@blocked": "status:blocked",
  "@running": "status:running",
};

/** The id of the run that a reference means. */
export async function findRun(app: App, reference: string): Promise<string> {
  if (reference.startsWith("@")) return marked(app, reference);
  if (await exists(app, reference)) return reference;
  const found: ListedRun[] = [];
  let looked = 0;
  for await (const head of allRuns(app)) {
    if (head.runId.startsWith(reference) || head.runId.endsWith(reference)) found.push(head);
    if (++looked >= searched || found.length > 8) break;
  }
  if (found.length === 1) return found[0]?.runId ?? "";
  if (found.length === 0) throw missing(`There is no run "${reference}" in this storage. Type durable ls.`);
  const ids = found.slice(0, 8).map(({ runId }) => runId);
  throw new CliError(`"${reference}" means several runs: ${ids.join(", ")}. Type more of the id.`, {
    exit: exit.usage,
    code: "ambiguous-id",
  });
}

async function marked(app: App, reference: string): Promise<string> {
  const search = Object.hasOwn(marks, reference) ? marks[reference] : undefined;
  if (search === undefined)
    throw new CliError(`${reference} is not known. Use ${Object.keys(marks).join(", ")}.`);
  const { runs } = await someRuns(app, { filter: filterOfText(search), limit: 1, cursor: null });
  const [first] = runs;
  if (first !== undefined) return first.runId;
  if (reference === "@last") throw missing("There are no runs yet.");
  throw missing(reference === "@waiting" ? "No run has an open wait." : `No run is ${reference.slice(1)}.`);
}

async function exists(app: App, runId: string): Promise<boolean> {
  try {
    await app.get(runId).entries({ limit: 0 });
    return true;
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    // A run that cannot be read is there: the command says why it cannot.
    return code !== "not-found" && code !== "invalid-id";
  }
}

function missing(message: string): CliError {
  return new CliError(message, { exit: exit.notFound, code: "not-found" });
}

/** A filter of runs. */
export interface Filter {
  readonly terms: SearchTerms;
  readonly search: RunSearch;
  /** Only runs that did not change since this time. */
  readonly before: number;
}

/** The options that are fields of a search. */
const fields = ["status", "workflow", "parent", "label", "version", "q", "since", "until"] as const;

/** The filter that options describe. A field of --where counts where the option of that name is missing. */
export function filterOf(
  flags: Flags,
  {
    now,
    term: { zone },
    prices,
    encrypted,
  }: Pick<CommandContext, "now" | "term"> & Pick<SearchContext, "prices" | "encrypted">,
): Filter {
  const { terms: where, problems } = readSearch(flags.text("where") ?? "");
  const given = fields.flatMap((name): [string, string][] => {
    const text = flags.text(name);
    if (text === undefined) return [];
    // A list of statuses is one; any other value may have commas.
    return [[name, name === "status" ? text : `"${text}"`]];
  });
  const tags = flags.list("tag").map((text) => `"${text}"`);
  const tag = [...(where.tag === undefined ? [] : [where.tag]), ...tags].join(",");
  const waiting = flags.on("waiting") ? { waiting: "yes" } : {};
  const terms = { ...where, ...Object.fromEntries(given), ...waiting, ...(tag === "" ? {} : { tag }) };
  const search = runSearch(terms, { now: now(), utc: zone === "UTC", prices, encrypted });
  const [problem] = [...problems, ...search.problems];
  if (problem !== undefined) throw new CliError(problem);
  const age = flags.text("before");
  return { terms, search, before: age === undefined ? Infinity : now() - lengthOf(age) };
}

function lengthOf(text: string): number {
  try {
    return toMs(text as Duration);
  } catch {
    throw new CliError(`"${text}" is not a length of time for before. Use 30s, 15m, 6h, 7d or 2w.`);
  }
}

/** The filter of a text. A text that is not understood is refused. */
export function filterOfText(where: string, context: SearchContext = { now: 0 }): Filter {
  const { terms, problems } = readSearch(where);
  const search = runSearch(terms, context);
  const [problem] = [...problems, ...search.problems];
  if (problem !== undefined) throw new CliError(problem);
  return { terms, search, before: Infinity };
}

/** True when a filter chooses everything. */
export function isEmpty({ terms, before }: Filter): boolean {
  return Object.keys(terms).length === 0 && before === Infinity;
}

/** True for a run that a filter chooses. */
export function fits(head: RunHead, { search, before }: Filter): boolean {
  return head.updatedAt <= before && search.fits(head);
}

/** Runs that a filter chooses, newest first; those with an open wait by its expiry. */
export async function* allRuns(app: App, filter?: Filter): AsyncGenerator<ListedRun, void, undefined> {
  for (let cursor: string | null = null; ;) {
    const found: FoundRuns = await someRuns(app, { filter, limit: page, cursor });
    yield* found.runs;
    if (found.next === null) return;
    cursor = found.next;
  }
}

export interface FoundRuns {
  readonly runs: readonly ListedRun[];
  /** The cursor of the runs that follow; `null` when there are no more. */
  readonly next: string | null;
}

/** The next runs that a filter chooses, in the order of `allRuns`, and at most `limit`. */
export async function someRuns(
  app: App,
  asked: { readonly filter?: Filter | undefined; readonly limit: number; readonly cursor: string | null },
): Promise<FoundRuns> {
  const { filter, limit } = asked;
  const { finds } = await storageOf(app);
  const { query = {}, statuses = [] } = filter === undefined ? {} : searchOn(filter, finds === true);
  const status = statuses.length === 1 ? statuses[0] : undefined;
  // A cursor of ours counts what it skips on the page of the storage where the last one ended.
  let [, skip = "0", inner = ""] = /^(\d+)\.(.*)$/s.exec(asked.cursor ?? "0.") ?? invalidCursor(asked.cursor);
  const runs: ListedRun[] = [];
  const isWhole =
    filter === undefined || (!filter.search.scans && filter.before === Infinity && statuses.length < 2);
  const size = isWhole && finds === true ? Math.min(page, Number(skip) + limit + 1) : page;
  for (;;) {
    const listed = await app.list({ ...query, status, limit: size, cursor: inner === "" ? null : inner });
    for (const [i, head] of listed.runs.entries()) {
      if (i < Number(skip) || (filter !== undefined && !fits(head, filter))) continue;
      if (runs.length === limit) return { runs, next: `${i}.${inner}` };
      runs.push(head);
    }
    if (listed.next === null) return { runs, next: null };
    [inner, skip] = [listed.next, "0"];
  }
}

/** What a storage is asked for: one that finds nothing, for less. */
function searchOn({ search }: Filter, finds: boolean): Pick<RunSearch, "query" | "statuses"> {
  const { workflow, parent } = search.query;
  return finds ? search : { query: { workflow, parent }, statuses: search.statuses };
}

function invalidCursor(cursor: string | null): never {
  throw new CliError(`"${cursor}" is not a cursor of this list.`, { code: "invalid-cursor" });
}

/** What to type so that a run is driven: with the code of its workflow, which `wake` needs. */
export function wakeHint(
  { flags }: Pick<CommandContext, "flags">,
  { appFile }: Pick<Session, "appFile">,
  runId: string,
): string {
  const given = flags.text("app");
  const file = given ?? (appFile === null ? "<file>" : null);
  return `durable wake ${shortId(runId)}${file === null ? "" : ` --app ${file}`}`;
}

/** An id for screens: of a random part only the beginning. `findRun` accepts it. */
export function shortId(runId: string): string {
  const random = /[a-z2-7]{20,}$/.exec(runId);
  return random === null ? runId : runId.slice(0, random.index + 8);
}
