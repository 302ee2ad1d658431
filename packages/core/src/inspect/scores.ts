/** The scores of a run with their notes, from its entries. Proven in test/runs/score.test.ts. */

import type { RunEntry } from "../journal/outcome.ts";

/** A score of a run, as it was last given. */
export interface ScoreView {
  readonly name: string;
  readonly value: number;
  /** Missing where there was none, or where it is in an earlier chapter. */
  readonly note?: string;
  /** When it was given, or when the chapter began that took it over. */
  readonly at: number;
}

/** The scores that the entries of a run give, by name: the last one of each counts. */
export function scoresIn(entries: readonly RunEntry[]): ScoreView[] {
  const scores = new Map<string, ScoreView>();
  for (const entry of entries) {
    const { kind, at } = entry;
    if (kind === "run.continued")
      for (const [name, value] of Object.entries(entry.head.scores ?? {}))
        scores.set(name, { name, value, at });
    if (kind !== "run.scored") continue;
    const { name, score: value, note } = entry;
    scores.delete(name);
    if (value !== null) scores.set(name, { name, value, at, ...(typeof note === "string" && { note }) });
  }
  return [...scores.values()];
}

/** A run that people keep as an example: words for it, and the answer that is expected. */
export interface Example {
  readonly label: string | null;
  /** Missing where no answer is expected. */
  readonly expected?: unknown;
}

/** The name of the score that marks an example. Its note has the rest. */
export const exampleScore = "example";

/** The note of an example. */
export function exampleNote(example: Example): string {
  return JSON.stringify(example);
}

/** The example that scores mark; `null` for none. A note that a person wrote is its label. */
export function exampleIn(scores: readonly ScoreView[]): Example | null {
  const mark = scores.find(({ name, value }) => name === exampleScore && value > 0);
  if (mark === undefined) return null;
  try {
    const { label = null, expected } = Object(JSON.parse(mark.note ?? "{}")) as Partial<Example>;
    if (label === null || typeof label === "string")
      return { label, ...(expected !== undefined && { expected }) };
  } catch {
    // A person wrote it.
  }
  return { label: mark.note ?? null };
}
