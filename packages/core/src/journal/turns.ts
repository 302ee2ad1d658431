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
  const heads = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "stream.chunks" && isHead(entry.chunks)) heads.add(entry.key);
    if (entry.kind !== "step.completed" && entry.kind !== "stream.completed") continue;
    const { kind, key, kept, work, value } = entry;
    // A stream that a fork edited has no head.
    const isStream = kind !== "step.completed" && (work === "content" || heads.has(key) || isHead(value));
    if (!isStream && !isAnswer(value)) continue;
    // An answer that changed code has kept is the same turn under another key.
    const at = kept === undefined ? -1 : keys.indexOf(kept);
    keys.splice(at === -1 ? keys.length : at, 1, key);
  }
  return keys;
}

function isAnswer(value: unknown): boolean {
  const { content, finishReason } = (value ?? {}) as { content?: unknown; finishReason?: unknown };
  return Array.isArray(content) && finishReason !== undefined;
}

/** Chunks are a time and a part. */
function isHead(chunks: unknown): boolean {
  const [first] = (chunks ?? []) as readonly (readonly [unknown, { type?: unknown }?] | undefined)[];
  return first?.[1]?.type === headType;
}

/**
 * The branch of a call and the first word of its name. Two calls that are named by their content are the same turn, asked
 * otherwise, if these are equal and both are the first that is left.
 */
export function sortOf(key: string): string {
  return `${pathOf(key)} ${nameOf(key).split(" ")[0]}`;
}
