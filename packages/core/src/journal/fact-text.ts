/** The text of one fact, made when it is queued, because its size decides which append it goes with. */

import type { Json } from "../values/codec/tags.ts";
import { limits } from "../values/limits.ts";
import type { Fact } from "./entry.ts";

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
  for (const name in fact) {
    const field = (fact as unknown as Record<string, unknown>)[name];
    if (field !== undefined && !written.has(name)) text += `,"${name}":${JSON.stringify(field)}`;
  }
  return `${text}}`;
}

const written = new Set(["startedAt", "attempt", "kind", "key", "after"]);

/** How many facts, from the first on, fit into one append; at least one. */
export function fitting(facts: readonly WrittenFact[]): number {
  let size = 0;
  const end = facts.findIndex(
    ({ text }, i) => i >= limits.batchEntries || ((size += text.length) > limits.batchBytes && i > 0),
  );
  return end === -1 ? facts.length : end;
}
