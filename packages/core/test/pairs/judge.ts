/** Plays cells, and counts what the model explains. */

import { nameOf, type Cell } from "./cells.ts";
import { unexplained } from "./explain.ts";
import { known } from "./known.ts";
import { play, type Seen, type SeenRuns } from "./play.ts";
import { broken } from "./promises.ts";
import type { Open } from "./stage.ts";

export interface Tally {
  readonly cells: number;
  /** Cells in which a caller was refused, by the code of an error or by a status that has a name. */
  readonly refused: number;
  /** How often each of them was given. */
  readonly codes: Readonly<Record<string, number>>;
  /** Cells that a known fault covers, and in which it was seen. */
  readonly known: number;
  /** What is not explained: the cell, and what is wrong with it. */
  readonly unexplained: readonly string[];
}

/** Statuses by which a caller learns that nothing was recorded. */
const refusals: ReadonlySet<string> = new Set([
  "duplicate",
  "expired",
  "unknown",
  "ended",
  "conflict",
  "invalid",
]);

/** The codes of a reply that is a refusal. */
export function codesIn(word: string): string[] {
  return word.split(", ").flatMap((part) => {
    if (part.startsWith("refused ")) return [part.slice("refused ".length)];
    return refusals.has(part) ? [part] : [];
  });
}

/** What is wrong with a cell; nothing when it is explained. */
export function faultsIn(seen: Seen): string[] {
  const { cell, subject, replies, rest, end } = seen;
  const statusIn = (runs: SeenRuns): string => runs.get(subject.id)?.status ?? "none";
  const words = replies.map(({ word }) => word);
  const why = unexplained(cell, cell.verbs, { words, rest: statusIn(rest), end: statusIn(end) });
  return [...(why === null ? [] : [`the model does not explain ${why}`]), ...broken(seen)];
}

export async function playAll(cells: readonly Cell[], open: Open): Promise<Tally> {
  const codes: Record<string, number> = {};
  const left: string[] = [];
  let [refused, seenKnown] = [0, 0];
  for (const cell of cells) {
    const { faults, words } = await judged(cell, open);
    const refusing = words.flatMap(codesIn);
    for (const code of refusing) codes[code] = (codes[code] ?? 0) + 1;
    if (refusing.length > 0) refused += 1;
    if (faults.length === 0) continue;
    if (known.some(({ covers }) => covers(cell))) seenKnown += 1;
    else left.push(`${nameOf(cell)}: ${faults.join("; ")}`);
  }
  return { cells: cells.length, refused, codes, known: seenKnown, unexplained: left };
}

async function judged(
  cell: Cell,
  open: Open,
): Promise<{ faults: readonly string[]; words: readonly string[] }> {
  try {
    const seen = await play(cell, open);
    return { faults: faultsIn(seen), words: seen.replies.map(({ word }) => word) };
  } catch (error) {
    return { faults: [`it threw ${String(error)}`], words: [] };
  }
}
