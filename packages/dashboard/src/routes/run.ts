/** One run: its page, one of its calls, and its journal. Proven in test/server.test.ts. */

import { DurableError, type RunHead } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { childSums, promptsIn, spendOf, traceOf } from "@durable/core/inspect";
import { blockedNote, retryRefusal, stateIn, storageOf, underWay } from "@durable/core/inspect";
import {
  allRows,
  locatorOf,
  type Plain,
  type PromptView,
  viewRun,
  type RowView,
  type RunView,
} from "@durable/core/inspect";
import { type Call, json, mayDo, readable } from "@durable/http/kit";
import type { ChildSums, EntryPage, JournalEntry, Row, RunPage, SentRun, StepDetail, Wait } from "../api.ts";
import type { Service } from "../options.ts";
import { describe, isJson, Room } from "../text.ts";
import { numberIn } from "./request.ts";
import { itemOf } from "./runs.ts";

const mostBelow = 50;

/** A read from here gives no batches, only what stands beside the journal. */
export const beyondEnd = 2_147_483_647;

export async function runPage(service: Service, { request, runId, url }: Call): Promise<Response> {
  const chapter = chapterIn(url);
  const page = await pageOf(service, runId, { request, chapter });
  const known = url.searchParams.get("known");
  return json(
    200,
    service.sent.answer(page, { about: `${runId} ${chapter ?? ""}`, known }) satisfies SentRun,
  );
}

/** What the children of a run have used, with all below them. */
export async function children(service: Service, { request, runId }: Call): Promise<Response> {
  const { app, prices } = service;
  const sums = await childSums(app, runId, {
    prices,
    readable: (runs) => readable(service, request, runs),
  });
  return json(200, sums satisfies ChildSums);
}

/** What the page of a run shows; runs below it are those that the request may read, or all without one. */
export async function pageOf(
  service: Service,
  runId: string,
  {
    request,
    chapter,
    room = new Room(),
  }: {
    readonly request?: Request | undefined;
    readonly chapter?: number | undefined;
    readonly room?: Room;
  } = {},
): Promise<RunPage> {
  const { app, prices } = service;
  const storage = await storageOf(app);
  const now = app.world.now();
  const [entries, beside, blocked, doing, below] = await Promise.all([
    app.get(runId).entries({ chapter, struck: true }),
    storage.read(locatorOf(runId), beyondEnd),
    blockedNote(app, runId),
    underWay(app),
    app.list({ parent: runId, limit: mostBelow }),
  ]);
  const { head } = beside;
  const forked = entries.find((entry) => entry.kind === "run.forked");
  const trace = traceOf(entries);
  const view = viewRun(entries, { blocked: blocked ?? undefined, doing: doing.get(runId), prices, now });
  const { rows: _rows, retries, waits, childOf, input, output, error, ...rest } = view;
  const refusal = view.status === "failed" ? await retryRefusal(app, runId) : null;
  return {
    ...rest,
    rows: shownRows(view).map((row) => rowOf(row, service)),
    retries: retries.map(({ at, rows: [first], ...retry }) => ({
      at,
      ...("error" in retry ? { problem: describe(rootOf(retry.error)) } : {}),
      row: first === undefined ? null : struckKey(first),
    })),
    waits: waits.map((wait) => waitOf(wait, room)),
    parentRun: view.lineage?.parent ?? childOf?.runId ?? null,
    state: (await stateIn(app, beside)) ?? (view.status === "suspended" ? "waiting" : view.status),
    tags: head?.tags ?? {},
    ...(await reportOf(service, runId, { head, room })),
    below: (request === undefined ? below.runs : await readable(service, request, below.runs)).map((head) =>
      itemOf(service, head, doing.get(head.runId)),
    ),
    hasCode: service.code.has(view.workflow),
    retriable: view.status === "failed" && refusal === null,
    ...(refusal === null ? {} : { retryRefusal: refusal.message }),
    trace,
    ...(service.traceUrl === undefined || trace === ""
      ? {}
      : { traceUrl: service.traceUrl.replaceAll("{traceId}", trace) }),
    entries: entries.length,
    now,
    ...shown(view, { input, output, error }, room),
    ...(forked?.prompts === undefined ? {} : { prompts: Object.entries(forked.prompts as object) }),
    ...("input" in view ? {} : await inputAbove(service, view, { request, room })),
  };
}

/** How many forks above a run are read for its input. */
const mostAbove = 20;

/** The input of a run stands in one of its first entries. */
const mostBeginning = 20;

/** The input of a fork that keeps that of an ancestor, and whose it is; of an ancestor that may be read. */
async function inputAbove(
  service: Service,
  { lineage }: RunView,
  { request, room }: { readonly request: Request | undefined; readonly room: Room },
): Promise<{ readonly input?: Plain; readonly inputOf?: string }> {
  let above = lineage?.parent ?? null;
  for (let i = 0; i < mostAbove && above !== null; i++) {
    const runId: string = above;
    if (request !== undefined && !(await mayDo(service, request, { type: "read", runId }))) return {};
    const view = await service.app
      .get(runId)
      .entries({ limit: mostBeginning })
      .then(viewRun, () => null);
    if (view === null) return {};
    if ("input" in view) return { input: room.show(view.input), inputOf: runId };
    above = view.lineage?.parent ?? null;
  }
  return {};
}

/** The cause that explains the others. */
function rootOf(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 16 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause;
  return at;
}

/** All rows of a run. A key names one row of the page, so a struck row has a key of its own. */
export function shownRows(view: RunView): readonly RowView[] {
  return allRows(view).map((row) => (row.struck === undefined ? row : { ...row, key: struckKey(row) }));
}

function struckKey({ key, struck }: RowView): string {
  return `${key} before the retry of ${new Date(struck ?? 0).toISOString()}`;
}

/** The text beside the journal may be sealed, so the value comes from the outcome. */
async function reportOf(
  { app }: Service,
  runId: string,
  { head, room }: { readonly head: RunHead | undefined; readonly room: Room },
): Promise<object> {
  if (head?.report === undefined) return {};
  try {
    const { report } = await app.get(runId).outcome();
    return report === undefined ? {} : { report: room.show(report) };
  } catch (error) {
    // The outcome has tokens, which cannot be made here.
    if (DurableError.is(error, "no-secret")) return {};
    throw error;
  }
}

function shown(view: RunView, values: object, room: Room): object {
  const present = Object.entries(values).filter(([name]) => name in view);
  return Object.fromEntries(present.map(([name, value]) => [name, room.show(value)]));
}

function rowOf(row: RowView, { prices }: Service): Row {
  const {
    value: _value,
    error,
    note: _note,
    schema: _schema,
    usage,
    fromJournal,
    edited,
    attempts,
    progress,
    ...rest
  } = row;
  const spend = spendOf(usage, prices);
  const tokens = spend.inputTokens + spend.outputTokens;
  return {
    ...rest,
    attempts: attempts.map(({ error: thrown, ...attempt }) =>
      thrown === undefined ? attempt : { ...attempt, failed: describe(thrown) },
    ),
    ...(fromJournal ? { fromJournal } : {}),
    ...(edited ? { edited } : {}),
    ...(tokens === 0 ? {} : { tokens }),
    ...(spend.cost === null || tokens === 0 ? {} : { cost: spend.cost }),
    ...("error" in row ? { problem: describe(error) } : {}),
    ...(progress === undefined ? {} : { progress: describe(progress) }),
    ...(row.turn === undefined || usage[0] === undefined ? {} : { model: usage[0].model }),
  };
}

/** A wait as pages show it. Its token stays on the server. */
export function waitOf({ wait: _wait, ...wait }: RunView["waits"][number], room = new Room()): Wait {
  return { ...wait, note: room.show(wait.note), schema: room.show(wait.schema) };
}

export function detailOf(
  row: RowView,
  entries: readonly Entry[],
  { prices, room = new Room(), asked = new Room(), prompts = promptsIn(entries) }: DetailParts,
): StepDetail {
  const show = (value: unknown): Plain => room.show(value);
  const prompt = row.prompt === true ? (prompts(row.seq ?? row.key) ?? prompts(row.key)) : null;
  return {
    key: row.key,
    lossy: "value" in row && !isJson(row.value),
    attempts: row.attempts.map((attempt) => ({
      number: attempt.number,
      ...("error" in attempt ? { error: show(attempt.error) } : {}),
    })),
    spend: spendOf(row.usage, prices),
    ...("value" in row ? { value: show(row.value) } : {}),
    ...("error" in row ? { error: show(row.error) } : {}),
    ...("note" in row ? { note: show(row.note) } : {}),
    ...("schema" in row ? { schema: show(row.schema) } : {}),
    ...(row.kind === "stream" ? { chunks: chunksOf(row, entries).map(show) } : {}),
    ...(prompt === null ? {} : { prompt: asked.show(shownPrompt(prompt)) }),
  };
}

/** What was added stands at the end of the messages, and is not sent twice. */
function shownPrompt({ change, ...prompt }: PromptView): object {
  const { added: _, ...others } = change ?? {};
  return { ...prompt, change: change === null ? null : others };
}

interface DetailParts extends Pick<Service, "prices"> {
  readonly room?: Room;
  /** Prompts repeat each other, so they have a room of their own. */
  readonly asked?: Room;
  readonly prompts?: ReturnType<typeof promptsIn>;
}

/** The chunks of the last attempt. */
export function chunksOf(row: RowView, entries: readonly Entry[]): unknown[] {
  if (Array.isArray(row.value)) return row.value;
  const attempt = row.attempts.at(-1)?.number ?? 1;
  return entries.flatMap((entry) =>
    entry.kind === "stream.chunks" && entry.key === row.key && entry.attempt === attempt ? entry.chunks : [],
  );
}

export async function journalPage(service: Service, { runId, url }: Call): Promise<Response> {
  const offset = numberIn(url, "offset", { min: 0, max: Number.MAX_SAFE_INTEGER, or: 0 });
  const limit = numberIn(url, "limit", { min: 1, max: 500, or: 100 });
  const entries = await service.app.get(runId).entries({ chapter: chapterIn(url), struck: true });
  const [base, room] = [baseOf(entries), new Room()];
  return json(200, {
    entries: entries.slice(offset, offset + limit).map((entry) => journalEntry(entry, base, room)),
    total: entries.length,
  } satisfies EntryPage);
}

/** Entries up to this position were inherited. */
export function baseOf(entries: readonly Entry[]): number {
  const first = entries.find(({ kind }) => kind === "run.forked");
  return first?.kind === "run.forked" ? first.base : 0;
}

export function journalEntry(entry: Entry, base: number, room: Room): JournalEntry {
  const { seq, at, kind, outside, struck, ...others } = entry;
  const { key = "", ...fields } = others as { key?: string };
  const rest = room.show(fields, 20_000);
  const about = { seq, at, kind, key, outside, inherited: seq <= base, rest };
  return struck === undefined ? about : { ...about, struck };
}

export function chapterIn(url: URL): number | undefined {
  const chapter = numberIn(url, "chapter", { min: 0, max: Number.MAX_SAFE_INTEGER, or: 0 });
  return chapter === 0 ? undefined : chapter;
}
