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
  // Default values are left out and restored on read, because this entry is written once per step.
  const { startedAt, attempt, kind, key, after, ...rest } = fact;
  const took = at - startedAt;
  return JSON.stringify({
    at,
    kind,
    key,
    after,
    ...(took === 0 ? {} : { took }),
    ...(attempt === 1 ? {} : { attempt }),
    ...rest,
  });
}

/** How many facts, from the first on, fit into one append; at least one. */
export function fitting(facts: readonly WrittenFact[]): number {
  let size = 0;
  const end = facts.findIndex(
    ({ text }, i) => i >= limits.batchEntries || ((size += text.length) > limits.batchBytes && i > 0),
  );
  return end === -1 ? facts.length : end;
}
