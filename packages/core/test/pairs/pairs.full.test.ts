import { expect, test } from "vitest";
import { pairs, sampleOf, singles } from "./cells.ts";
import { playAll } from "./judge.ts";
import { onMemory, onSqlite } from "./storages.ts";

// A small sample: pairs.test.ts. All cells on SQLite would take a quarter of an hour.
test.each([
  { name: "memory", open: onMemory, cells: [...singles(), ...pairs()] },
  { name: "SQLite", open: onSqlite, cells: [...sampleOf(singles(), 900, 4), ...sampleOf(pairs(), 900, 5)] },
])(
  "$cells.length cells of verbs, states and options, and of two verbs at once, on $name",
  { timeout: 3_600_000 },
  async ({ name, open, cells }) => {
    const { unexplained, codes, ...tally } = await playAll(cells, open);
    console.log(`pairs on ${name}:`, tally, codes);
    expect(unexplained).toEqual([]);
  },
);
