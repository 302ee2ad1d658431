/**
 * A group of appends as one statement, and its reply as one result for each.
 *
 * appends.1. A step of a lone run is a statement that is prepared under a name. Without names, a single append is a function
 *     with plain values, whose plan is kept. Groups have one array for each column.
 * appends.2. In a crowd, the batches that only grow their runs are written together, without a call for each: Postgres then
 *     plans the statement anew, which is worth it from a few batches on. A group has at most one batch of a run.
 */

import type { DurableError } from "@durable/core";
import type { AppendRequest, NamedBlob } from "@durable/core/storage";
import {
  conflict,
  droppedConflict,
  dueOrder,
  marksText,
  refuseBlobs,
  singletonConflict,
  waitsUntil,
} from "@durable/core/storage";
import { goesOn, grown, slottedTtl } from "./sql/append.ts";
import { clock } from "./sql/clock.ts";
import { put, take } from "./text.ts";

/** A row of the reply: which append of the group was refused, and why. */
export interface Refusal {
  readonly n: number;
  readonly reason: string | null;
}

export interface AppendStatement {
  readonly text: string;
  readonly values: unknown[];
}

export interface AppendContext {
  readonly schema: string;
  readonly process: string;
  /** The clock of the caller; `null` is that of the server. */
  readonly now: number | null;
  /** True when commits of this role do not wait for the disk by themselves. */
  readonly isAsync: boolean;
}

type Column = readonly [type: string, of: (request: AppendRequest) => unknown];

const text = (value: string | null | undefined): string | null =>
  value === null || value === undefined ? null : put(value);

/** The first arguments of both functions. The process comes after them. */
const usualColumns: readonly Column[] = [
  ["text", ({ locator }) => locator],
  ["int", ({ position }) => position],
  ["text", ({ batch }) => put(batch)],
  ["float8", ({ head }) => head.createdAt],
  ["float8", ({ head }) => head.updatedAt],
  ["int", ({ head }) => head.steps],
  ["float8", ({ head }) => dueOrder(head)],
  ["text", ({ lease }) => text(lease?.owner)],
  ["float8", ({ lease }) => (lease === undefined ? null : (lease?.ttlMs ?? -1))],
];

/** With the next arguments of both. The time comes after them. */
const plainColumns: readonly Column[] = [
  ...usualColumns,
  ["text", ({ head }) => head.status],
  ["float8", ({ head }) => head.wakeAt],
  ["text", ({ head }) => (head.ancestors.length === 0 ? "[]" : JSON.stringify(head.ancestors))],
];

/** What `append_whole` has in addition, but for the blobs. */
const wholeColumns: readonly Column[] = [
  ["int", ({ head }) => head.chapter ?? null],
  ["text", ({ head }) => text(head.runId)],
  ["text", ({ head }) => text(head.workflow)],
  ["text", ({ head }) => text(head.label)],
  ["text", ({ head }) => text(head.parent)],
  ["text", ({ head }) => (head.readsFrom === undefined ? null : JSON.stringify(head.readsFrom))],
  ["boolean", ({ blobs }) => !isPossible(blobs)],
  ["text", ({ head }) => text(head.version)],
  ["text", ({ head }) => (head.tags === undefined ? null : JSON.stringify(head.tags))],
  ["boolean", ({ newTags }) => newTags === true],
];

/** What `append_flow` has in addition to `append_whole`. */
const flowColumns: readonly Column[] = [
  ["text", ({ head }) => JSON.stringify(head.flow)],
  ["text", ({ head }) => text(head.flow?.slot)],
  ["text", ({ head }) => text(head.flow?.singleton)],
  ["text", ({ head }) => put(head.flow?.fair ?? "")],
];

/** True for a batch that records limits: the first of a run, one after its end, and any of a run with a time to begin. */
function hasFlow({ position, head, revives }: AppendRequest): boolean {
  return head.flow !== undefined && (position === 0 || revives === true || head.flow.startAt !== undefined);
}

/** An append is durable when it is acknowledged, whatever the role or the database has as its default. */
const durably = ", set_config('synchronous_commit', 'on', true)";

/** True for a batch whose head says something new beside its columns. */
function isMarked({ position, head, newMarks }: AppendRequest): boolean {
  return position > 0 ? newMarks === true : marksText(head) !== null;
}

/** What a function that is called with the reply of an append writes: a report, or what a head says beside its columns. */
interface Addition {
  readonly name: "reported" | "marked";
  readonly columns: readonly Column[];
}

const reported: Addition = { name: "reported", columns: [["text", ({ report }) => text(report)]] };
const marked: Addition = {
  name: "marked",
  columns: [
    ["text", ({ head }) => text(marksText(head))],
    ["float8", ({ head }) => waitsUntil(head)],
  ],
};

function additionsOf(request: AppendRequest): Addition[] {
  return [request.report === undefined ? [] : [reported], isMarked(request) ? [marked] : []].flat();
}

/** True for a batch that only grows a run: no blobs, no chapter, no new tags, no report, no limits, no new marks. */
function isPlain(request: AppendRequest): boolean {
  const { position, head, blobs, newTags } = request;
  const isMore = newTags === true || hasFlow(request) || additionsOf(request).length > 0;
  const isOther = isMore || (blobs !== undefined && blobs.length > 0);
  return position > 0 && head.chapter === undefined && !isOther;
}

/** The values of `goesOn` and of `append`, in the order of their arguments. */
function usualValues(request: AppendRequest, process: string): unknown[] {
  return [...usualColumns.map(([, of]) => of(request)), process];
}

/** The statement to prepare for the step of a lone run under its lease; `null` when these requests are anything else. */
export function preparedAppend(
  requests: readonly AppendRequest[],
  { schema, process, now, isAsync }: AppendContext,
): (AppendStatement & { readonly name: string }) | null {
  const [only] = requests;
  if (only === undefined || requests.length > 1 || now !== null || isAsync) return null;
  if (!isPlain(only) || !isUsual(only) || !only.lease) return null;
  // Postgres cuts names after 63 characters.
  const name = isSlotted(only) ? "append_slotted" : "append";
  const text = goesOn(schema, isSlotted(only));
  return { name: `${name} ${schema}`, text, values: usualValues(only, process) };
}

export function appendStatement(
  requests: readonly AppendRequest[],
  { schema, process, now, isAsync }: AppendContext,
): AppendStatement {
  const [only] = requests;
  if (requests.length === 1 && only !== undefined && isPlain(only)) {
    const values = usualValues(only, process);
    if (!isUsual(only) || now !== null)
      values.push(...plainColumns.slice(usualColumns.length).map(([, of]) => of(only)), now);
    const name = isSlotted(only) ? "append_slotted" : "append";
    const call = `${schema}.${name}(${values.map((_, n) => `$${n + 1}`).join(", ")})`;
    return { text: `SELECT 0 AS n, ${call} AS reason${isAsync ? durably : ""}`, values };
  }
  const values: unknown[] = [process, now];
  const numbered = requests.map((request, n) => ({ request, n }));
  const plain = numbered.filter(({ request }) => isPlain(request));
  const parts: string[] = [];
  if (plain.length >= crowd) parts.push(crowded(plain, { schema, isAsync, values }));
  else if (plain.length > 0)
    parts.push(part(plain, { schema, isAsync, values, name: plainName(plain), columns: plainColumns }));
  const others = numbered.filter(({ request }) => !isPlain(request));
  for (const of of Map.groupBy(others, ({ request }) => kindOf(request)).values()) {
    const [first] = of as [(typeof of)[0]];
    const called = hasFlow(first.request) ? flowPart(of, values) : wholePart(of, values);
    parts.push(part(of, { schema, isAsync, values, ...called, additions: additionsOf(first.request) }));
  }
  return { text: parts.join("\nUNION ALL\n"), values };
}

/** What a batch that is not plain has beside blobs, chapters and tags: limits, a report, new marks. */
function kindOf(request: AppendRequest): string {
  return [hasFlow(request), ...additionsOf(request).map(({ name }) => name)].join(" ");
}

/** True for a run that has a slot: its lease is extended only while it is live. */
function isSlotted({ head }: AppendRequest): boolean {
  return head.flow?.slot !== undefined;
}

function plainName(of: Numbered): string {
  return of.some(({ request }) => isSlotted(request)) ? "append_slotted" : "append";
}

/** From this many batches on, planning one statement costs less than calling a function for each. */
const crowd = 8;

/** True for the values that the function assumes by default. */
function isUsual({ head }: AppendRequest): boolean {
  return head.status === "running" && head.wakeAt === 0 && head.ancestors.length === 0;
}

/** Names of the columns of `plainColumns`, in their order. */
const names = "locator position batch created updated steps place owner ttl status wake line".split(" ");

/** Grows many runs at once; only refused batches are returned. It must be the first part of a statement. */
function crowded(of: Numbered, { schema, isAsync, values }: Omit<Part, "name" | "columns">): string {
  const bind = (type: string, value: unknown): string => `$${values.push(value)}::${type}`;
  const arrays = [
    bind(
      "int[]",
      of.map(({ n }) => n),
    ),
    ...plainColumns.map(([type, get]) =>
      bind(
        `${type}[]`,
        of.map(({ request }) => get(request)),
      ),
    ),
  ];
  const given = { owner: "c.owner", ttl: "c.ttl", now: "c.now" };
  const isLimited = of.some(({ request }) => isSlotted(request));
  const terms = {
    status: "c.status",
    wake: "c.wake",
    order: "c.place",
    updated: "c.updated",
    steps: "c.steps",
    process: "$1",
    ...given,
    ttl: isLimited ? slottedTtl(given) : given.ttl,
  };
  return `WITH c AS MATERIALIZED (
    SELECT *, ${clock("$2::float8")} AS now FROM unnest(${arrays.join(", ")}) AS c (n, ${names.join(", ")})
  ), grown AS (
    UPDATE ${schema}.runs AS r SET${grown(terms)}
      FROM c WHERE r.locator = c.locator AND r.length = c.position AND r.created_at = c.created AND NOT r.deleted
      RETURNING r.id, c.n, c.position, c.batch${isAsync ? durably : ""}
  ), added AS (
    INSERT INTO ${schema}.batches (run, position, body) SELECT g.id, g.position, g.batch FROM grown AS g
  )
  SELECT c.n, coalesce(${schema}.refusal(c.locator, c.position, c.created, c.line), 'moved') AS reason
  FROM c WHERE c.n NOT IN (SELECT g.n FROM grown AS g)`;
}

type Numbered = readonly { readonly request: AppendRequest; readonly n: number }[];

interface Part {
  readonly schema: string;
  readonly isAsync: boolean;
  readonly values: unknown[];
  readonly name: string;
  readonly columns: readonly Column[];
  /** Columns that are not arguments, and what is passed after the arguments. */
  readonly more?: { readonly columns: readonly Column[]; readonly args: string };
  /** What is written beside the batch. */
  readonly additions?: readonly Addition[];
}

type Called = Required<Pick<Part, "name" | "columns" | "more">>;

/** Calls a function for each of some appends; only refused ones are returned. */
function part(of: Numbered, { schema, isAsync, values, name, columns, more, additions = [] }: Part): string {
  const bind = (type: string, value: unknown): string => `$${values.push(value)}::${type}`;
  const own = [...columns, ...(more?.columns ?? [])];
  const all = [...own, ...additions.flatMap((addition) => addition.columns)];
  const arrays = [
    bind(
      "int[]",
      of.map(({ n }) => n),
    ),
    ...all.map(([type, get]) =>
      bind(
        `${type}[]`,
        of.map(({ request }) => get(request)),
      ),
    ),
  ];
  const names = all.map((_, n) => `c${n}`);
  const args = columns.map((_, n) => `c.c${n}`);
  args.splice(usualColumns.length, 0, "$1");
  // One more for the process.
  args.splice(plainColumns.length + 1, 0, "$2::float8");
  const append = `${schema}.${name}(${args.join(", ")}${more === undefined ? "" : `, ${more.args}`})`;
  let column = own.length;
  const call = additions.reduce((reply, addition) => {
    const given = addition.columns.map(() => `c.c${column++}`);
    return `${schema}.${addition.name}(${[reply, "c.c0", ...given].join(", ")})`;
  }, append);
  return `SELECT d.n, d.reason FROM (SELECT c.n, ${call} AS reason${isAsync ? durably : ""}
  FROM unnest(${arrays.join(", ")}) AS c (n, ${names.join(", ")})) AS d WHERE d.reason IS NOT NULL`;
}

/** Blobs of all appends go in two arrays, of which each append takes its part. */
function wholePart(of: Numbered, values: unknown[]): Called {
  const columns = [...plainColumns, ...wholeColumns];
  const blobs = of.map(({ request }) => (isPossible(request.blobs) ? distinct(request.blobs ?? []) : []));
  if (blobs.every(({ length }) => length === 0))
    return { name: "append_whole", columns, more: { columns: [], args: "NULL, NULL" } };
  const counts = new Map(of.map(({ request }, n) => [request, blobs[n]?.length ?? 0]));
  const ends = new Map<AppendRequest, number>();
  let end = 0;
  for (const [request, count] of counts) ends.set(request, (end += count));
  const names = values.push(blobs.flatMap((list) => list.map(([name]) => put(name))));
  const bodies = values.push(blobs.flatMap((list) => list.map(([, body]) => text(body))));
  const from = `c.c${columns.length} + 1 : c.c${columns.length + 1}`;
  return {
    name: "append_whole",
    columns,
    more: {
      columns: [
        ["int", (request) => (ends.get(request) ?? 0) - (counts.get(request) ?? 0)],
        ["int", (request) => ends.get(request) ?? 0],
      ],
      args: `($${names}::text[])[${from}], ($${bodies}::text[])[${from}]`,
    },
  };
}

/** The same, with what the head says about limits at the end. */
function flowPart(of: Numbered, values: unknown[]): Called {
  const { columns, more } = wholePart(of, values);
  const from = columns.length + more.columns.length;
  const args = flowColumns.map((_, n) => `c.c${from + n}`);
  return {
    name: "append_flow",
    columns,
    more: { columns: [...more.columns, ...flowColumns], args: [more.args, ...args].join(", ") },
  };
}

/** One result for each request: `null` when it landed. */
export function refusalsOf(
  requests: readonly AppendRequest[],
  refused: readonly Refusal[],
): (DurableError | null)[] {
  const results = requests.map((): DurableError | null => null);
  for (const { n, reason } of refused) {
    const request = requests[n];
    if (reason !== null && request !== undefined) results[n] = errorOf(request, reason);
  }
  return results;
}

function errorOf({ head, position, blobs = [] }: AppendRequest, reason: string): DurableError {
  if (reason === "dropped") return droppedConflict(head.runId);
  if (reason.startsWith("singleton"))
    return singletonConflict(head.runId, take(reason.slice("singleton".length)));
  if (!reason.startsWith("blob")) return conflict(head.runId, position, reason === "gone");
  const missing = new Set(JSON.parse(reason.slice("blob".length) || "[]") as string[]);
  const refusal = refuseBlobs(head.runId, blobs, (name) => !missing.has(put(name)));
  return refusal ?? conflict(head.runId, position);
}

/** False for texts that UTF-8 cannot represent. The database then only checks whether there is a conflict. */
function isPossible(blobs: readonly NamedBlob[] = []): boolean {
  return blobs.every(({ name, body }) => name.isWellFormed() && body?.isWellFormed() !== false);
}

/** Each name once, with its body if one of them has it, in the order in which blobs are locked. */
function distinct(blobs: readonly NamedBlob[]): [string, string | undefined][] {
  const bodies = new Map<string, string | undefined>();
  for (const { name, body } of blobs) bodies.set(name, bodies.get(name) ?? body);
  return [...bodies];
}

/** Roughly how many characters a request sends. */
export function sizeOf({ batch, blobs = [] }: AppendRequest): number {
  return blobs.reduce((sum, { body = "" }) => sum + body.length, batch.length);
}
