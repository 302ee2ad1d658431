/** Faults of the library that are known and not mended yet: cells that are not counted as unexplained. Empty it as they are mended. */

import type { Cell, State, Verb } from "./cells.ts";

export interface Known {
  readonly reason: string;
  readonly covers: (cell: Cell) => boolean;
}

const has = ({ verbs }: Cell, ...any: readonly Verb[]): boolean => verbs.some((verb) => any.includes(verb));
const on = ({ state }: Cell, ...any: readonly State[]): boolean => any.includes(state);

export const known: readonly Known[] = [
  {
    reason: "a parked run that was blocked stays blocked after the code was mended",
    covers: (cell) => has(cell, "deploy") && on(cell, "blocked"),
  },
  {
    reason: "the slot of a run that is deleted or cancelled is free a moment before its driver stops",
    covers: (cell) => has(cell, "delete", "cancel") && cell.option === "concurrency",
  },
];
