/**
 * The facts a journal is made of, and the written form of a batch of them.
 *
 * E1. A batch is one append: a text that carries format version, writer, write id and time.
 * E2. One write id, one text: a batch is written once and never changed (law 8).
 * E3. `seq` is dense from 1 over a run's entries. A fork counts on from its parent, so that the
 *     positions in inherited entries keep their meaning.
 */

import type { Json } from "./codec/tags.ts";
import { DurableError } from "./errors.ts";

export const formatVersion = 1;

/** What a fork keeps of one ancestor. */
export interface Ancestor {
  readonly runId: string;
  /** Batches of the ancestor that existed when the fork was made. */
  readonly length: number;
  /** Its own entries are numbered from here on. */
  readonly base: number;
  readonly cuts: readonly Cut[];
}

/** Drops what was called at or after `at`, siblings in other branches excepted; `keep` spares `key` itself. */
export interface Cut {
  readonly key: string;
  readonly at: number;
  readonly keep: boolean;
}

/** A recorded output replaced in a fork. `open` says how a call that had not settled was made. */
export interface Edit<V> {
  readonly key: string;
  readonly value: V;
  readonly open?: { readonly after: number; readonly wait?: string };
}

/** Facts every call's entries carry: `after` is the highest position delivered when the call was made. */
interface Called {
  readonly key: string;
  readonly after: number;
}

interface Attempted extends Called {
  readonly startedAt: number;
  readonly attempt: number;
  /** Fingerprint of the declared input. */
  readonly input?: string;
}

/** One fact. `V` is how values are held: encoded inside the engine, decoded for users. */
export type Fact<V> =
  | {
      readonly kind: "run.started";
      readonly runId: string;
      readonly workflow: string;
      readonly version: string | null;
      readonly input: V;
    }
  | {
      readonly kind: "run.forked";
      readonly runId: string;
      readonly workflow: string;
      readonly version: string | null;
      readonly parent: string;
      readonly label: string | null;
      readonly ancestry: readonly Ancestor[];
      /** Where the fork's own entries count on from. */
      readonly base: number;
      readonly edits: readonly Edit<V>[];
      /** Absent when the parent's input is kept. */
      readonly input?: V;
    }
  | ({ readonly kind: "step.completed"; readonly value: V } & Attempted)
  | ({ readonly kind: "step.failed"; readonly error: V } & Attempted)
  | ({ readonly kind: "attempt.failed"; readonly error: V; readonly retryAt: number } & Attempted)
  | ({ readonly kind: "sleep.opened"; readonly until: number; readonly input: string } & Called)
  | ({ readonly kind: "sleep.fired" } & Called)
  | ({
      readonly kind: "suspend.opened";
      readonly wait: string;
      readonly note: V;
      readonly schema: unknown;
      readonly expiresAt: number | null;
    } & Called)
  | {
      readonly kind: "suspend.answered";
      readonly wait: string;
      readonly value: V;
      readonly answerId?: string;
    }
  | ({
      readonly kind: "suspend.resolved";
      readonly wait: string;
      /** Absent when `answer` points at the entry that holds it. */
      readonly value?: V;
      readonly answer?: number;
      readonly answerId?: string;
    } & Called)
  | ({
      readonly kind: "suspend.rejected";
      readonly wait: string;
      readonly answer: number;
      readonly issues: string;
    } & Called)
  | ({ readonly kind: "suspend.expired"; readonly wait: string; readonly value?: V } & Called)
  | ({ readonly kind: "suspend.closed"; readonly wait: string } & Called)
  | ({
      readonly kind: "parallel.opened" | "race.opened";
      readonly branches: readonly string[] | number;
    } & Called)
  | { readonly kind: "run.suspended"; readonly wakeAt: number | null }
  | { readonly kind: "run.completed"; readonly output: V; readonly orphans?: readonly string[] }
  | { readonly kind: "run.failed"; readonly error: V; readonly orphans?: readonly string[] }
  | { readonly kind: "run.cancelled"; readonly reason: string | null };

export type FactKind = Fact<unknown>["kind"];

/** The outcome of one attempt of a step: work that was paid for. */
export function isAttempt({ kind }: Fact<unknown>): boolean {
  return kind === "step.completed" || kind === "step.failed" || kind === "attempt.failed";
}

/** A fact as it stands in a journal. */
export type Entry<V = Json> = Fact<V> & {
  readonly at: number;
  readonly seq: number;
  /** Written by anyone but a driver: an answer or a cancellation. */
  readonly outside: boolean;
};

const kinds: ReadonlySet<unknown> = new Set<FactKind>([
  "run.started",
  "run.forked",
  "step.completed",
  "step.failed",
  "attempt.failed",
  "sleep.opened",
  "sleep.fired",
  "suspend.opened",
  "suspend.answered",
  "suspend.resolved",
  "suspend.rejected",
  "suspend.expired",
  "suspend.closed",
  "parallel.opened",
  "race.opened",
  "run.suspended",
  "run.completed",
  "run.failed",
  "run.cancelled",
]);

/** Fields by their sort, which is the same in every kind: one of another sort was not written by us. */
const numbers = ["at", "after", "until", "retryAt", "base", "answer"];
const texts = ["key", "wait", "runId", "workflow", "parent", "issues"];
const lists = ["ancestry", "edits"];

function fits(raw: Raw): boolean {
  const are = (names: readonly string[], check: (field: unknown) => boolean): boolean =>
    names.every((name) => raw[name] === undefined || check(raw[name]));
  const { kind, at, key, after, until, branches } = raw;
  const called = !/^run\.|^suspend\.answered$/.test(kind as string);
  return (
    kinds.has(kind) &&
    (!called || (key !== undefined && after !== undefined)) &&
    at !== undefined &&
    /^(parallel|race)/.test(kind as string) === (Number.isFinite(branches) || Array.isArray(branches)) &&
    (kind === "sleep.opened") === (until !== undefined) &&
    Number.isFinite(raw["wakeAt"] ?? raw["expiresAt"] ?? 0) &&
    are(numbers, Number.isFinite) &&
    are(texts, (field) => typeof field === "string") &&
    are(lists, Array.isArray)
  );
}

/** A fact with its written form, made once and reused by every append that carries it. */
export interface WrittenFact {
  readonly fact: Fact<Json>;
  readonly at: number;
  readonly text: string;
}

export function writeFact(fact: Fact<Json>, at: number): WrittenFact {
  if (!("startedAt" in fact)) return { fact, at, text: JSON.stringify({ at, ...fact }) };
  // A step's entry is written once per step: its usual fields are left out and put back when read.
  const { startedAt, attempt, kind, key, after, ...rest } = fact;
  const took = at - startedAt;
  const text = JSON.stringify({
    at,
    kind,
    key,
    after,
    ...(took === 0 ? {} : { took }),
    ...(attempt === 1 ? {} : { attempt }),
    ...rest,
  });
  return { fact, at, text };
}

export function writeBatch(writeId: string, outside: boolean, facts: readonly WrittenFact[]): string {
  const head = `{"v":${formatVersion},"by":${JSON.stringify(writeId)}${outside ? ',"outside":true' : ""}`;
  return `${head},"entries":[${facts.map((written) => written.text).join(",")}]}`;
}

type Raw = { [key: string]: unknown };

export interface ReadBatch {
  readonly driver: string;
  readonly writeId: string;
  readonly outside: boolean;
  readonly facts: readonly { readonly fact: Fact<Json>; readonly at: number }[];
}

/** Reads one batch; `where` names run and position for the message. */
export function readBatch(text: string, where: string): ReadBatch {
  const raw = parse(text, where);
  if (typeof raw["v"] === "number" && raw["v"] > formatVersion) {
    throw new DurableError(
      "newer-format",
      `${where} was written in format ${raw["v"]}, newer than this build reads (${formatVersion}). Upgrade @durable/core in this process.`,
    );
  }
  const { by, entries } = raw;
  if (raw["v"] !== formatVersion || typeof by !== "string" || !Array.isArray(entries)) throw corrupt(where);
  const facts = (entries as readonly Raw[]).map((entry) => readFact(entry, where));
  return { driver: by.slice(0, by.lastIndexOf(".")), writeId: by, outside: raw["outside"] === true, facts };
}

/** The parsed object becomes the fact: a long replay reads many, and copies would be most of its cost. */
function readFact(raw: Raw, where: string): { fact: Fact<Json>; at: number } {
  if (typeof raw !== "object" || raw === null || !fits(raw)) throw corrupt(where);
  const { attempt, took } = raw;
  const at = raw["at"] as number;
  const fact = raw as unknown as Fact<Json>;
  if (isAttempt(fact)) {
    raw["attempt"] = typeof attempt === "number" ? attempt : 1;
    raw["startedAt"] = at - (typeof took === "number" ? took : 0);
  }
  return { fact, at };
}

function parse(text: string, where: string): Raw {
  try {
    const raw: unknown = JSON.parse(text);
    if (typeof raw === "object" && raw !== null) return raw as Raw;
  } catch {
    // Falls through: not JSON and not an object are the same finding.
  }
  throw corrupt(where);
}

export function corrupt(where: string): DurableError {
  return new DurableError(
    "corrupt",
    `${where} is not a batch this library wrote. Restore the journal from a backup.`,
  );
}
