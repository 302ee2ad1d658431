/** One line of the picture of a run: what a row holds, and how the entries of one call become one. */

import type { CallKind } from "../journal/entry.ts";
import { callKind, isSettlement } from "../journal/kinds.ts";
import { nameOf, stepAsked } from "../journal/keys.ts";
import type { RunEntry } from "../journal/outcome.ts";
import type { Usage } from "../values/usage.ts";
import type { Doing } from "../runs/under-way.ts";

/** One attempt of a step or of a stream. */
export interface AttemptView {
  /** Counts from 1. */
  readonly number: number;
  readonly startedAt: number;
  /** `null` while it runs. */
  readonly endedAt: number | null;
  /** What it threw; missing for an attempt that succeeded or still runs. */
  readonly error?: unknown;
  /** When the next attempt begins, after this one failed. */
  readonly retryAt?: number;
}

/** What a row stands for. A branch is one strand of a `parallel` or a `race`; a clean-up is a `ctx.onCancel`. */
export type RowKind = Exclude<CallKind, "tag"> | "branch";

/**
 * Where the call of a row is. `open` is a wait, a child or work that has begun; `retrying` is between two
 * attempts; `closed` is a call that ended without an outcome, because its group or its run ended first; `registered` is a
 * clean-up that has not begun.
 */
export type RowStatus = "completed" | "failed" | "expired" | "open" | "retrying" | "closed" | "registered";

/** One line of the picture of a run: a call, a group of branches, or one branch. */
export interface RowView {
  /** The key of the call; for a branch the path of its scope: `parallel[credit]`. */
  readonly key: string;
  /** The last name of the key, without its number; for a branch the name of the branch. */
  readonly name: string;
  readonly kind: RowKind;
  readonly status: RowStatus;
  /** How deep the row is inside groups and branches; 0 at the top. */
  readonly depth: number;
  /** The key of the row that contains this one; `null` at the top. */
  readonly parent: string | null;
  readonly startedAt: number;
  /** `null` while it is open. */
  readonly endedAt: number | null;
  /** For steps and streams, in order. */
  readonly attempts: readonly AttemptView[];
  /** True when a fork inherited the outcome: nothing ran here. Of a group: when that is true of all its rows. */
  readonly fromJournal: boolean;
  /** True when a fork replaced the output. */
  readonly edited: boolean;
  /** What its attempts used; for groups and branches the sum of their rows. */
  readonly usage: readonly Usage[];
  /** When a retry struck the row: its call began anew, or its run went on. Missing for rows that count. */
  readonly struck?: number;
  /** The position of the entry that settled the call; `null` while it is open, and for groups and branches. */
  readonly seq: number | null;
  /** The outcome, once the call has settled with a value; of a stream, the chunks so far. */
  readonly value?: unknown;
  /** The error, once the call has failed. */
  readonly error?: unknown;
  /** What a step said last that it has reached, while it has not settled: `info.heartbeat`. */
  readonly progress?: unknown;
  /** True when what was asked of a model is recorded: `promptOf(entries, key)`. */
  readonly prompt?: true;
  /** For streams: when the first chunk came, and how many there are. */
  readonly firstAt?: number;
  readonly chunks?: number;
  /** Of an answer of a language model: its number among the turns of the run, from 1, as for `fork({ from: { turn } })`. */
  readonly turn?: number;
  /** The first words of a turn, or the tools that it calls. Of a stream that is being made, its last words. */
  readonly words?: string;
  /** For sleeps: when the sleep ends. */
  readonly until?: number;
  /** For suspend points: what is asked, the JSON Schema of the answer, and the deadline. */
  readonly note?: unknown;
  readonly schema?: unknown;
  readonly expiresAt?: number | null;
  /** For children: the id and the workflow of the run. */
  readonly child?: string;
  readonly workflow?: string;
  /** For groups: the names of the branches, or how many there are. */
  readonly branches?: readonly string[] | number;
}

/** A row that is still being put together. */
export type Draft = { -readonly [K in keyof Omit<RowView, "attempts" | "usage">]: RowView[K] } & {
  attempts: AttemptView[];
  usage: Usage[];
};

type CallEntry = Extract<RunEntry, { key: string }>;

/** The row of a call, of which this is the first entry. */
export function draftOf(entry: CallEntry): Draft {
  const asked = stepAsked(entry.key);
  return {
    ...emptyDraft(entry.key, rowKind(entry), startOf(entry)),
    name: asked === null ? nameOf(entry.key) : entry.key.slice(asked.length + 1),
  };
}

/** Changes of tags have no row. */
function rowKind(entry: CallEntry): RowKind {
  return callKind(entry) as RowKind;
}

/** A row for a group or a branch that has no entry of its own, or none yet. */
export function emptyDraft(key: string, kind: RowKind, startedAt: number): Draft {
  return {
    key,
    name: kind === "branch" ? key.slice(key.lastIndexOf("[") + 1, -1) : nameOf(key),
    kind,
    status: "open",
    depth: 0,
    parent: null,
    startedAt,
    endedAt: null,
    attempts: [],
    fromJournal: false,
    edited: false,
    usage: [],
    seq: null,
  };
}

function startOf(entry: CallEntry): number {
  return "startedAt" in entry ? Math.min(entry.startedAt, entry.at) : entry.at;
}

/** Adds an attempt that is under way, and that no entry may tell of yet. */
export function learnDoing(row: Draft, { attempt, since, words }: Doing): void {
  // It was recorded after the list was written.
  if (row.seq !== null || row.attempts.some(({ number, endedAt }) => number === attempt && endedAt !== null))
    return;
  row.status = "open";
  row.startedAt = Math.min(row.startedAt, since);
  addAttempt(row, { number: attempt, startedAt: since, endedAt: null });
  if (words !== undefined) row.words = words;
}

/** Adds one entry of the call to its row. */
export function learn(row: Draft, entry: CallEntry): void {
  row.startedAt = Math.min(row.startedAt, startOf(entry));
  if ("usage" in entry && entry.usage !== undefined) row.usage.push(...entry.usage);
  if ("prompt" in entry && entry.prompt !== undefined) row.prompt = true;
  if (isSettlement(entry)) return settle(row, entry);
  switch (entry.kind) {
    case "step.started":
      row.status = "open";
      addAttempt(row, { number: entry.attempt, startedAt: entry.at, endedAt: null });
      return;
    case "step.progress":
      row.status = "open";
      row.progress = entry.value;
      addAttempt(row, { number: entry.attempt, startedAt: entry.at, endedAt: null });
      return;
    case "attempt.failed":
      row.status = "retrying";
      addAttempt(row, {
        number: entry.attempt,
        startedAt: entry.startedAt,
        endedAt: entry.at,
        error: entry.error,
        retryAt: entry.retryAt,
      });
      return;
    case "stream.chunks":
      learnChunks(row, entry);
      return;
    default:
      learnWait(row, entry);
  }
}

function learnWait(row: Draft, entry: CallEntry): void {
  switch (entry.kind) {
    case "sleep.opened":
      row.until = entry.until;
      return;
    case "suspend.opened":
      row.note = entry.note;
      row.schema = entry.schema;
      row.expiresAt = entry.expiresAt;
      // A wait that was closed with its race is open again when the code reaches it again.
      if (row.status === "closed") Object.assign(row, { status: "open", endedAt: null });
      return;
    case "cleanup.opened":
      Object.assign(row, { status: "registered", endedAt: entry.at });
      return;
    case "cleanup.started":
      Object.assign(row, { status: "open", startedAt: entry.at, endedAt: null });
      return;
    case "spawn.opened":
    case "child.opened":
      row.child = entry.child;
      row.workflow = entry.workflow;
      return;
    case "suspend.closed":
    case "child.closed":
      if (row.status === "open") Object.assign(row, { status: "closed", endedAt: entry.at });
      return;
    case "parallel.opened":
    case "race.opened":
      row.kind = rowKind(entry);
      row.branches = entry.branches;
      return;
    default:
  }
}

/** The first settlement counts; later ones change nothing. */
function settle(row: Draft, entry: Extract<CallEntry, { after: number }>): void {
  if (row.seq !== null) return;
  row.seq = entry.seq;
  row.endedAt = entry.at;
  delete row.progress;
  const failed = "error" in entry;
  const refused = "rejects" in entry && entry.rejects;
  row.status =
    failed || refused
      ? "failed"
      : entry.kind === "suspend.expired" && entry.value === undefined
        ? "expired"
        : "completed";
  if (failed) row.error = entry.error;
  else if (refused) row.error = entry.value;
  else if ("value" in entry && entry.value !== undefined) row.value = entry.value;
  if (entry.kind === "stream.completed") {
    row.chunks = entry.count;
    if (entry.firstAt !== undefined) row.firstAt = entry.firstAt;
  }
  if (!("attempt" in entry) || !("startedAt" in entry)) return;
  addAttempt(row, {
    number: entry.attempt,
    startedAt: entry.startedAt,
    endedAt: entry.at,
    ...(failed ? { error: entry.error } : {}),
  });
}

function learnChunks(row: Draft, entry: CallEntry & { kind: "stream.chunks" }): void {
  const last = row.attempts.at(-1);
  // An attempt that died with its driver ends where the next one begins.
  if (last === undefined || last.number !== entry.attempt) {
    row.firstAt = entry.at;
    row.value = [];
    row.status = "open";
    addAttempt(row, { number: entry.attempt, startedAt: entry.at, endedAt: null });
  }
  row.chunks = entry.from + entry.chunks.length;
  (row.value as unknown[]).push(...entry.chunks);
}

/** An attempt that is known by an earlier entry keeps the earlier start. */
function addAttempt(row: Draft, attempt: AttemptView): void {
  const last = row.attempts.at(-1);
  if (last?.number !== attempt.number) {
    if (last?.endedAt === null)
      row.attempts[row.attempts.length - 1] = { ...last, endedAt: attempt.startedAt };
    row.attempts.push(attempt);
    return;
  }
  row.attempts[row.attempts.length - 1] = {
    ...attempt,
    startedAt: Math.min(last.startedAt, attempt.startedAt),
  };
}
