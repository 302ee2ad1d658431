/** The calls of models in a run, with numbers and words that people can read. Proven in test/turns.test.ts. */

import type { Entry } from "@durable/core/types";
import { partsOf, type PartChunk } from "./chunks.ts";
import { headType } from "./stream-output.ts";

/** A call of a language model. */
export interface TurnView {
  /** From 0, in the order in which the answers were recorded. */
  readonly turn: number;
  /** The key of its step or stream, for `fork({ from: key })`. */
  readonly key: string;
  /** The model that answered; `null` where no usage is recorded. */
  readonly model: string | null;
  /** The first words of the answer, or the tools that it calls. */
  readonly words: string;
}

/** How much of an answer is shown. */
const most = 80;

/**
 * The answers of language models in the entries of a run, also in branches: `turnsOf(await run.entries()).at(-1)?.key` is where to fork
 * from to ask the last turn again.
 */
export function turnsOf(entries: readonly Entry[]): TurnView[] {
  const turns: TurnView[] = [];
  for (const entry of entries) {
    const parts = answerIn(entry, entries);
    if (parts === null) continue;
    const { key, usage } = entry as Extract<Entry, { kind: "step.completed" }>;
    turns.push({ turn: turns.length, key, model: usage?.[0]?.model ?? null, words: wordsIn(parts) });
  }
  return turns;
}

interface Said {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly delta?: unknown;
  readonly toolName?: unknown;
}

/** The parts of an answer; `null` for an entry that ends no call of a language model. */
function answerIn(entry: Entry, entries: readonly Entry[]): readonly Said[] | null {
  if (entry.kind === "step.completed") {
    const { content, finishReason } = (entry.value ?? {}) as Readonly<Record<string, unknown>>;
    return Array.isArray(content) && finishReason !== undefined ? (content as Said[]) : null;
  }
  if (entry.kind !== "stream.completed") return null;
  const chunks = (entry.value ??
    entries.flatMap((one) =>
      one.kind === "stream.chunks" && one.key === entry.key && one.attempt === entry.attempt
        ? one.chunks
        : [],
    )) as unknown[];
  const parts = chunks.flatMap((chunk) => (isPart(chunk) ? partsOf(chunk) : []));
  // A fork with edited parts has no head.
  return parts[0]?.type === headType || entry.work === "content" ? parts : null;
}

function isPart(chunk: unknown): chunk is PartChunk {
  return Array.isArray(chunk) || typeof (chunk as { type?: unknown } | null)?.type === "string";
}

function wordsIn(parts: readonly Said[]): string {
  const text = parts
    .map(({ type, text: whole, delta }) =>
      type === "text" ? String(whole) : type === "text-delta" ? String(delta) : "",
    )
    .join("")
    .replaceAll(/\s+/g, " ")
    .trim();
  if (text !== "") return text.length > most ? `${text.slice(0, most)}...` : text;
  return parts
    .flatMap(({ type, toolName }) => (type === "tool-call" ? [`calls ${String(toolName)}`] : []))
    .join(", ");
}
