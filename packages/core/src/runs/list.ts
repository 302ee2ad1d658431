/** Lists runs by what their heads say. */

import type { ListPage, ListQuery, RunHead } from "../ports/storage.ts";
import { atOnce } from "../values/limits.ts";
import { assertOptions } from "../values/options.ts";
import type { Host } from "./host.ts";
import { withReport } from "./send.ts";
import { assertFindable } from "./tags.ts";

/** Filters that only some storages know. */
const filters = "tags version createdAfter createdBefore q";
const queryOptions = `workflow status parent dueAt endedBefore limit cursor ${filters}`;

export async function listRuns(host: Host, query: ListQuery): Promise<ListPage> {
  assertOptions(query, queryOptions, "list()");
  const { storage, cipher } = await host.journals();
  if (filters.split(" ").some((name) => query[name as keyof ListQuery] !== undefined))
    assertFindable(storage, query);
  const page = await storage.list(query);
  if (page.runs.every(({ report }) => report === undefined)) return page;
  return { ...page, runs: await Promise.all(page.runs.map((head) => withReport(head, cipher ?? null))) };
}

/** The heads of all children and forks of a run, by id. */
export async function headsBelow(host: Host, parent: string): Promise<ReadonlyMap<string, RunHead>> {
  const heads = new Map<string, RunHead>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: ListPage = await listRuns(host, { parent, cursor, limit: atOnce.listed });
    for (const head of page.runs) heads.set(head.runId, head);
    cursor = page.next;
  }
  return heads;
}
