/**
 * The written form of a batch of facts.
 *
 * batch.1. A batch is one append: a text that carries format version, writer, write id and time.
 * batch.2. One write id, one text: a batch is written once and never changed (law 8).
 */

import type { Json } from "../values/codec/tags.ts";
import type { Fact } from "./entry.ts";
import { isKind, traitsOf } from "./kinds.ts";
import { DurableError, otherFormat } from "../values/errors.ts";
import { limits } from "../values/limits.ts";

/** The format that this build writes and reads. Those before it were never released. */
export const formatVersion = 4;

/** Fields by type, which is the same in every kind of entry. A field of another type means a corrupt batch. */
const types = new Map<string, (field: unknown) => boolean>();
const isText = (field: unknown): boolean => typeof field === "string";
for (const [names, check] of [
  ["at after until retryAt base answer from count look firstAt chapter unneeded to", Number.isFinite],
  [
    "key wait runId workflow parent child nonce first kept topic id scope schedule eval answered name",
    isText,
  ],
  ["ancestry edits cuts usage orphans abandoned unawaited uncompensated", Array.isArray],
  ["failed steps", areTexts],
  ["flow turn", isFlow],
  ["tags", areTags],
  ["score", isScore],
] as const)
  for (const name of names.split(" ")) types.set(name, check);

function areTexts(field: unknown): boolean {
  return Array.isArray(field) && field.every(isText);
}

function isScore(field: unknown): boolean {
  return field === null || Number.isFinite(field);
}

/** Texts and numbers. */
function isFlow(field: unknown): boolean {
  return Object.values(Object(field)).every((value) => isText(value) || Number.isFinite(value));
}

function fits(raw: Raw): boolean {
  const { kind, at, key, after, until, branches } = raw;
  if (!isKind(kind)) return false;
  // One walk over the fields that are there: this runs for every entry that is read.
  for (const name in raw) {
    const field = raw[name];
    if (field !== undefined && types.get(name)?.(field) === false) return false;
  }
  const { call, value, optional } = traitsOf({ kind });
  return (
    (value === undefined || optional === true || raw[value] !== undefined) &&
    (call === undefined || (key !== undefined && after !== undefined)) &&
    at !== undefined &&
    (kind === "run.started" || kind === "run.forked" || kind === "run.continued") ===
      (raw["nonce"] !== undefined) &&
    (call === "parallel" || call === "race") === (Number.isFinite(branches) || Array.isArray(branches)) &&
    (kind === "sleep.opened") === (until !== undefined) &&
    (kind === "child.opened" || kind === "spawn.opened" || kind === "spawn.started") ===
      (raw["child"] !== undefined) &&
    (kind !== "tag.set" || raw["tags"] !== undefined) &&
    (kind !== "message.sent" || raw["topic"] !== undefined) &&
    (kind !== "run.scored" || (raw["name"] !== undefined && raw["score"] !== undefined)) &&
    (kind === "stream.chunks") === areChunks(raw["chunks"]) &&
    (raw["childOf"] === undefined || isChildOf(raw["childOf"])) &&
    (raw["spawnedBy"] === undefined || isChildOf({ after: 0, ...(raw["spawnedBy"] as Raw | null) })) &&
    Number.isFinite(raw["wakeAt"] ?? raw["expiresAt"] ?? raw["deadline"] ?? 0)
  );
}

/** Texts by name; `null` removes one. */
function areTags(tags: unknown): boolean {
  return (
    Object(tags) === tags && Object.values(tags as Raw).every((value) => value === null || isText(value))
  );
}

/** A list, or the sealed form of one. */
function areChunks(chunks: unknown): boolean {
  return Array.isArray(chunks) || (chunks as Raw | null | undefined)?.["$"] === "sealed";
}

function isChildOf(childOf: unknown): boolean {
  const { runId, key, after } = (childOf ?? {}) as Raw;
  return typeof runId === "string" && typeof key === "string" && Number.isFinite(after);
}

export function writeBatch(writeId: string, outside: boolean, texts: readonly string[]): string {
  const head = `{"v":${formatVersion},"by":${JSON.stringify(writeId)}${outside ? ',"outside":true' : ""}`;
  return `${head},"entries":[${texts.join(",")}]}`;
}

type Raw = { [key: string]: unknown };

export interface ReadBatch {
  readonly driver: string;
  readonly writeId: string;
  readonly outside: boolean;
  readonly facts: readonly { readonly fact: Fact<Json>; readonly at: number }[];
}

/** The run id in a first batch; empty for other batches. */
export function runIdOf({ facts: [first] }: ReadBatch): string {
  return first !== undefined && "runId" in first.fact ? first.fact.runId : "";
}

/** The chapter that a batch begins; the first, unless it says another. */
export function chapterOf({ facts: [first] }: ReadBatch): number {
  return first?.fact.kind === "run.continued" ? first.fact.chapter : 1;
}

/** Reads one batch; `where` names run and position for the message. */
export function readBatch(text: string, where: string): ReadBatch {
  const raw = parse(text, where);
  const { v, by, entries } = raw;
  if (typeof v === "number" && (v > formatVersion || (v > 0 && v < formatVersion && Number.isInteger(v))))
    throw otherFormat(`${where} has format`, v, {
      reads: formatVersion,
      instead: "Finish or export its runs with that version, then delete them.",
    });
  if (v !== formatVersion || typeof by !== "string" || !Array.isArray(entries)) throw corrupt(where);
  const facts = (entries as readonly Raw[]).map((entry) => readFact(entry, where));
  return { driver: by.slice(0, by.lastIndexOf(".")), writeId: by, outside: raw["outside"] === true, facts };
}

/** The parsed object becomes the fact, because copies would be most of the cost of a long replay. */
function readFact(raw: Raw, where: string): { fact: Fact<Json>; at: number } {
  if (typeof raw !== "object" || raw === null || !fits(raw)) throw corrupt(where);
  const { attempt, took } = raw;
  const at = raw["at"] as number;
  const fact = raw as unknown as Fact<Json>;
  const { paid, call } = traitsOf(fact);
  if (paid && call !== "child" && call !== "spawn") {
    raw["attempt"] = typeof attempt === "number" ? attempt : 1;
    if (fact.kind !== "stream.chunks" && fact.kind !== "step.progress")
      raw["startedAt"] = at - (typeof took === "number" ? took : 0);
  }
  return { fact, at };
}

function parse(text: string, where: string): Raw {
  try {
    const raw: unknown = JSON.parse(text);
    if (typeof raw === "object" && raw !== null) return raw as Raw;
  } catch {
    // Falls through: text that is not JSON and JSON that is not an object are both corrupt.
  }
  throw corrupt(where);
}

export function corrupt(where: string): DurableError {
  return new DurableError(
    "corrupt",
    `${where} was not written by this library. Restore the journal from a backup.`,
  );
}

/** The text of a batch after which the code of the run is over, and what it did is undone; or one that has its words. */
export function endsCode(text: string): boolean {
  return /"run\.(?:cancelling|failing)"/.test(text);
}

/** A fact with its written form, made once and reused by every append that carries it. */
export interface WrittenFact {
  readonly fact: Fact<Json>;
  readonly at: number;
  readonly text: string;
}

export function writeFact(fact: Fact<Json>, at: number): WrittenFact {
  return { fact, at, text: writeText(fact, at) };
}

export function writeText(fact: Fact<Json>, at: number): string {
  if (!("startedAt" in fact)) return JSON.stringify({ at, ...fact });
  // Default values are left out and restored on read, because this entry is written once per step. For the same reason
  // it is written field by field: copying it first costs more than the text.
  const { startedAt, attempt, kind, key, after } = fact;
  const took = at - startedAt;
  let text = `{"at":${at},"kind":"${kind}","key":${JSON.stringify(key)},"after":${after}`;
  if (took !== 0) text += `,"took":${took}`;
  if (attempt !== 1) text += `,"attempt":${attempt}`;
  // Letters and digits alone.
  if ("work" in fact && fact.work !== undefined) text += `,"work":"${fact.work}"`;
  for (const name in fact) {
    const field = (fact as unknown as Record<string, unknown>)[name];
    if (field !== undefined && !written.has(name)) text += `,"${name}":${JSON.stringify(field)}`;
  }
  return `${text}}`;
}

const written = new Set(["startedAt", "attempt", "kind", "key", "after", "work"]);

/** How many facts, from the first on, fit into one append; at least one. */
export function fitting(facts: readonly WrittenFact[]): number {
  let size = 0;
  const end = facts.findIndex(
    ({ text }, i) => i >= limits.batchEntries || ((size += text.length) > limits.batchBytes && i > 0),
  );
  return end === -1 ? facts.length : end;
}
