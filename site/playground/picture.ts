/** A run as texts that a page can show. Values were made by a program that may be a stranger's, so only texts leave the worker. */
import type { App, DurableError, Run } from "@durable/core";
import { plain, viewRun } from "@durable/core/inspect";
import { prices } from "./model.ts";
import type { EntryPicture, RunPicture } from "./protocol.ts";

type Entries = Awaited<ReturnType<Run["entries"]>>;
type Entry = Entries[number];

const longest = 4_000;

/** Any value as one text. */
export function textOf(value: unknown): string {
  const shown = plain(value, { textLength: longest, depth: 12 });
  return typeof shown === "string" ? shown : JSON.stringify(shown);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : textOf(error);
}

export async function pictureOf(app: App, id: string): Promise<RunPicture> {
  const run = app.get(id);
  const outcome = await run.outcome();
  const entries = await run.entries({ struck: true });
  const view = viewRun(entries, { prices });
  const waits = "waiting" in outcome ? outcome.waiting : [];
  const own = entries.findLastIndex(({ kind }) => kind === "run.forked");
  const forked = entries[own];
  // What was undone is done again in a fork, so a fork cannot begin at what undid it.
  const over = entries.findIndex(({ kind }) => kind === "run.failing" || kind === "run.cancelling");
  const edits =
    forked?.kind === "run.forked" ? new Set(forked.edits.map(({ key }) => key)) : new Set<string>();
  return {
    id,
    parent: view.lineage?.parent ?? null,
    state: outcome.state,
    end: endOf(outcome),
    entries: entries.map((entry, n) =>
      entryPicture(entry, { inherited: n < own, isOver: over !== -1 && n > over, edits }),
    ),
    waits: waits.map(({ key, note }) => ({ key, note: note === undefined ? "" : textOf(note) })),
    steps: view.rows
      .filter(({ kind, status }) => ["step", "suspend"].includes(kind) && status !== "open")
      .map(({ key, fromJournal }) => ({ key, inherited: fromJournal })),
    cost: view.totals.spent.cost ?? 0,
    reusedCost: view.totals.reused.cost ?? 0,
  };
}

function endOf(outcome: Awaited<ReturnType<Run["outcome"]>>): string | null {
  if (outcome.status === "completed") return textOf(outcome.output);
  if (outcome.status !== "failed" && outcome.status !== "blocked") return null;
  const { error }: { readonly error: DurableError } = outcome;
  return error.message;
}

interface Place {
  readonly inherited: boolean;
  /** The code was over: this entry undoes what it did. */
  readonly isOver: boolean;
  readonly edits: ReadonlySet<string>;
}

function entryPicture(entry: Entry, { inherited, isOver, edits }: Place): EntryPicture {
  const key = "key" in entry ? entry.key : null;
  const usage = "usage" in entry ? (entry.usage ?? []) : [];
  const isStep = entry.kind === "step.completed";
  return {
    seq: entry.seq,
    kind: entry.kind,
    key,
    text: valueOf(entry),
    inherited,
    edited: inherited && isStep && edits.has(entry.key),
    cost: usage.length === 0 ? null : usage.reduce((sum, { cost = 0 }) => sum + cost, 0),
    json: isStep && !isOver ? jsonOf(entry.value) : null,
  };
}

function valueOf(entry: Entry): string {
  if (entry.kind === "run.forked") return entry.edits.map(({ key }) => `${key} was edited`).join(", ");
  const given = entry as unknown as Readonly<Record<string, unknown>>;
  for (const name of ["value", "output", "error", "note", "input", "reason"])
    if (given[name] !== undefined) return name === "error" ? messageOf(given[name]) : textOf(given[name]);
  return "";
}

function jsonOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(plain(value), null, 2);
}
