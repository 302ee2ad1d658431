/** Lists runs by what their heads say. */

import type { Cipher } from "../ports/cipher.ts";
import type { ListPage, ListQuery, RunHead, Storage } from "../ports/storage.ts";
import { atOnce } from "../values/limits.ts";
import { assertOptions } from "../values/options.ts";
import type { Host } from "./host.ts";
import { withTexts } from "./send.ts";
import { hasEnded, pageSize } from "../ports/storage-kit.ts";
import { stateOf, type RunStateName } from "../journal/run-state.ts";
import type { Definition } from "../engine/definition.ts";
import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertTagCount, checkedTags, type Tags } from "../values/run-tags.ts";

/** Filters that only some storages know. */
const filters = "tags version createdAfter createdBefore q waiting";
const queryOptions = `workflow status parent dueAt endedBefore limit cursor signal ${filters}`;

/** A run in a list of a workflow or an app. */
export interface ListedRun extends RunHead {
  /** What the run does, in one word: the same word as in its outcome. */
  readonly state: RunStateName;
}

/** Which runs to list. */
export interface RunQuery extends ListQuery {
  /** Only runs of this eval, or of any with `true`. Without it, lists leave runs of evals out. */
  readonly eval?: string | true | undefined;
}

/** The runs that a query asks for. Runs of evals are filtered here, so a page may take several reads. */
export async function listRuns(host: Host, query: RunQuery): Promise<ListPage<ListedRun>> {
  const { eval: made, ...asked } = query;
  if (made !== undefined && made !== true && typeof made !== "string") throw invalid("eval", made);
  const fits = (head: ListedRun): boolean => (made === true ? head.eval !== undefined : head.eval === made);
  const limit = pageSize(asked.limit);
  const runs: ListedRun[] = [];
  for (let page = await listAll(host, asked); ;) {
    runs.push(...page.runs.filter(fits));
    const isWhole = runs.length >= limit || page.next === null || page.partial === true;
    if (isWhole || asked.signal?.aborted === true) return { ...page, runs };
    page = await listAll(host, { ...asked, limit: limit - runs.length, cursor: page.next });
  }
}

/** The same, with the runs of evals. */
async function listAll(host: Host, query: ListQuery): Promise<ListPage<ListedRun>> {
  assertOptions(query, queryOptions, "list()");
  const { storage, cipher } = await host.journals();
  if (filters.split(" ").some((name) => query[name as keyof ListQuery] !== undefined))
    assertFindable(storage, query);
  const page = await storage.list(query);
  return { ...page, runs: await Promise.all(page.runs.map((head) => listedRun(host, head, cipher))) };
}

/** A head as lists show it: with its texts opened, and the word for what the run does. */
export async function listedRun(host: Host, head: RunHead, cipher?: Cipher | null): Promise<ListedRun> {
  const state = await headState(host, head);
  return { ...(await withTexts(head, cipher ?? null)), state };
}

/** What a run in a list says to people and programs elsewhere; the other fields of a head are for storages. */
const told = [
  "runId",
  "workflow",
  "status",
  "state",
  "createdAt",
  "updatedAt",
  "wakeAt",
  "dueSince",
  "steps",
  "label",
  "parent",
  "tags",
  "version",
  "report",
  "waits",
  "usage",
  "inherited",
  "error",
  "scope",
  "eval",
  "scores",
] as const satisfies readonly (keyof ListedRun)[];

/** A listed run as it is shown outside: the fields that it has, without those that only storages read. */
export function listedFacts(head: ListedRun): Pick<ListedRun, (typeof told)[number]> {
  const facts = told.flatMap((name) => (head[name] === undefined ? [] : [[name, head[name]] as const]));
  return Object.fromEntries(facts) as Pick<ListedRun, (typeof told)[number]>;
}

/** The word for what a run does, from its head. */
export async function headState(host: Host, head: RunHead): Promise<RunStateName> {
  const now = host.world.now();
  return stateOf(head, { now, paused: !hasEnded(head) && (await host.isPaused(head.workflow)) });
}

/** The heads of all children and forks of a run, by id. */
export async function headsBelow(host: Host, parent: string): Promise<ReadonlyMap<string, RunHead>> {
  const heads = new Map<string, RunHead>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: ListPage<ListedRun> = await listAll(host, { parent, cursor, limit: atOnce.listed });
    for (const head of page.runs) heads.set(head.runId, head);
    cursor = page.next;
  }
  return heads;
}

/** The tags of the workflow, with those of the start in front of them. */
export function firstTags({ name, tags }: Definition, input: Json, given: Tags | undefined): Tags {
  const where = `The start of "${name}"`;
  const own = typeof tags === "function" ? tags(decode(input, `input of workflow "${name}"`) as never) : tags;
  const all = { ...checkedTags(own ?? {}, where), ...checkedTags(given ?? {}, where) };
  assertTagCount(Object.keys(all).length, where);
  return Object.fromEntries(Object.entries(all).filter(isTag));
}

function isTag(tag: [string, string | null]): tag is [string, string] {
  return tag[1] !== null;
}

/** Checks the filters that only some storages know. */
export function assertFindable({ finds }: Storage, query: ListQuery): void {
  if (finds !== true)
    throw new DurableError(
      "invalid-options",
      `This storage cannot list runs by any of: ${filters}. Filter its pages yourself, or use a storage that \`finds\`.`,
    );
  const { tags = {}, createdAfter = 0, createdBefore = 0, q = "", waiting = true } = query;
  const texts = [query.version ?? []].flat();
  if (Object.values(checkedTags(tags, "list()")).includes(null)) throw invalid("tags", tags);
  for (const [name, time] of Object.entries({ createdAfter, createdBefore }))
    if (!Number.isFinite(time)) throw invalid(name, time);
  if (!waiting) throw invalid("waiting", waiting);
  for (const text of [q, ...texts]) if (typeof text !== "string") throw invalid("q or version", text);
}

function invalid(name: string, value: unknown): DurableError {
  return new DurableError("invalid-options", `list() got an invalid ${name}: ${show(value)}.`);
}
