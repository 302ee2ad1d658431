/** Which recorded calls are turns of an agent: answers of language models, as `@durable/ai-sdk` records them. */

import { nameOf, pathOf } from "./keys.ts";
import type { RunEntry } from "./outcome.ts";

/** The type of the first part of a recorded stream of a language model. */
const headType = "durable-head";

/** A turn of an agent by its number: from 1, or from -1 at the end. */
export interface TurnPlace {
  readonly turn: number;
}

/** The keys of all turns, also in branches, in the order in which their answers were recorded. */
export function turnKeys(entries: readonly RunEntry[]): string[] {
  const keys: string[] = [];
  const streams = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "stream.chunks" && (entry.chunks as Chunks)[0]?.[1]?.type === headType)
      streams.add(entry.key);
    if (entry.kind !== "step.completed" && entry.kind !== "stream.completed") continue;
    const { key, kept, value } = entry;
    const { content, finishReason } = Object(value) as Partial<Answer>;
    // An answer that changed code has kept is the same turn under another key.
    const at = keys.indexOf(kept ?? "");
    if (at < 0 && !streams.has(key) && !(content && finishReason)) continue;
    keys.splice(at < 0 ? keys.length : at, 1, key);
  }
  return keys;
}

type Chunks = readonly (readonly [unknown, { readonly type?: unknown }?] | null)[];

interface Answer {
  readonly content: unknown;
  readonly finishReason: unknown;
}

/**
 * The branch of a call and the first word of its name. Two calls that are named by their content are the same turn, asked
 * otherwise, if these are equal and both are the first that is left.
 */
export function sortOf(key: string): string {
  return `${pathOf(key)} ${nameOf(key).split(" ")[0]}`;
}
