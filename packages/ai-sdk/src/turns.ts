/** The calls of models in a run, with numbers and words that people can read. Proven in test/turns.test.ts. */

import { viewRun } from "@durable/core/inspect";
import type { Entry } from "@durable/core/types";

/** A call of a language model. */
export interface TurnView {
  /** From 1, in the order in which the answers were recorded: the number for `fork({ from: { turn } })`. */
  readonly turn: number;
  /** The key of its step or stream. */
  readonly key: string;
  /** The model that answered; `null` where no usage is recorded. */
  readonly model: string | null;
  /** The first words of the answer, or the tools that it calls. */
  readonly words: string;
}

/**
 * The answers of language models in the entries of a run, also in branches. `fork({ from: { turn: -1 } })` asks the last one
 * again.
 */
export function turnsOf(entries: readonly Entry[]): TurnView[] {
  return viewRun(entries)
    .rows.flatMap(({ turn, key, usage, words = "" }) =>
      turn === undefined ? [] : [{ turn, key, model: usage[0]?.model ?? null, words }],
    )
    .toSorted((a, b) => a.turn - b.turn);
}
