/** Which recorded runs an eval asks again, and how all that an eval made is removed. */

import { DurableError, type App, type ListPage, type ListedRun, type RunQuery } from "@durable/core";
import { isEncrypted, readSearch, runSearch } from "@durable/core/inspect";
import { casesIn } from "./dataset.ts";
import type { Case, EvalOptions, RunsBySearch } from "./options.ts";

/** Heads that one page of a search reads. */
const searchPage = 200;

/** The runs of a list, or those that a filter or a search finds, each once. */
export async function casesOf(app: App, runs: EvalOptions["runs"]): Promise<Case[]> {
  if (isList(runs)) {
    const cases = runs.map((one): Case => (typeof one === "string" ? { runId: one } : one));
    return [...new Map(cases.map((one) => [one.runId, one])).values()];
  }
  if ("dataset" in runs) return casesIn(app, runs.dataset);
  if ("search" in runs) return searched(app, runs);
  const { limit, ...query } = runs;
  return listed(app, query, { limit });
}

/** What the storage finds by its indexes, and of that what fits. */
function searched(app: App, { search, limit }: RunsBySearch): Promise<Case[]> {
  const { terms, problems } = readSearch(search);
  const asked = runSearch(terms, { now: app.world.now(), utc: true, encrypted: isEncrypted(app) });
  const wrong = [...problems, ...asked.problems];
  if (wrong.length > 0)
    throw new DurableError("invalid-options", `evaluate got a search that fits nothing: ${wrong.join(" ")}`);
  const [status] = asked.statuses.length === 1 ? asked.statuses : [];
  const query = { ...asked.query, ...(status !== undefined && { status }) };
  const fits = (head: ListedRun): boolean =>
    asked.fits(head) && (asked.statuses.length === 0 || asked.statuses.includes(head.status));
  return listed(app, query, { limit, fits, page: searchPage });
}

interface Listing {
  readonly limit: number;
  readonly fits?: (head: ListedRun) => boolean;
  /** Heads that one page reads; as many as are missing by default. */
  readonly page?: number;
}

async function listed(
  app: App,
  query: RunQuery,
  { limit, fits = () => true, page }: Listing,
): Promise<Case[]> {
  const found: Case[] = [];
  for (let cursor: string | null = null; ;) {
    const next: ListPage<ListedRun> = await app.list({
      ...query,
      limit: page ?? limit - found.length,
      cursor,
    });
    found.push(...next.runs.filter(fits).map(({ runId }): Case => ({ runId })));
    if (found.length >= limit || next.next === null) return found.slice(0, limit);
    cursor = next.next;
  }
}

function isList(runs: EvalOptions["runs"]): runs is readonly (string | Case)[] {
  return Array.isArray(runs);
}

/**
 * Deletes all runs that evals of this name made: their own, their forks and the verdicts of their judges. Their usage moves to the
 * sums of deleted runs. Returns how many there were.
 */
export async function removeEval(app: App, name: string): Promise<number> {
  let count = 0;
  for (;;) {
    const { runs } = await app.list({ eval: name, limit: 100 });
    for (const { runId } of runs) await app.delete(runId);
    count += runs.length;
    if (runs.length === 0) return count;
  }
}
