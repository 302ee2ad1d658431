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
    reason: "an early answer by resume begins a run before its time, and without a turn of its rate",
    covers: (cell) =>
      has(cell, "resume", "repeat") &&
      (on(cell, "delayed") || (on(cell, "queued") && cell.option === "rate")),
  },
  {
    reason: "deliver says accepted to a run that cleans up",
    covers: (cell) => has(cell, "deliver") && on(cell, "cancelling"),
  },
  {
    reason: "a parked run that was blocked stays blocked after the code was mended",
    covers: (cell) => has(cell, "deploy") && on(cell, "blocked"),
  },
  {
    reason: "the driver of a deleted run goes on for up to 20 seconds, without its slot",
    covers: (cell) =>
      has(cell, "delete") && cell.option === "concurrency" && on(cell, "running", "streaming", "cancelling"),
  },
  {
    reason: "a parent that is deleted while it is advanced leaves its child behind",
    covers: (cell) => has(cell, "delete") && has(cell, "advance") && on(cell, "parent"),
  },
  {
    reason: "a debounced start beside the delete of the run that has its key is lost",
    covers: (cell) => has(cell, "delete") && has(cell, "another", "start") && cell.option === "debounce",
  },
];
