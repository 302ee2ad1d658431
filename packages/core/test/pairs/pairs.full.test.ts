import { expect, test } from "vitest";
import { pairs, singles } from "./cells.ts";
import { playAll } from "./judge.ts";
import { onMemory, onSqlite } from "./storages.ts";

// A small sample: pairs.test.ts. A cell on SQLite takes five times as long, so the tests play every third one there.
const one = process.env["PAIRS"] === "all" ? 1 : 3;
const all = [...singles(), ...pairs()];

test.each([
  { name: "memory", open: onMemory, cells: all },
  { name: "SQLite", open: onSqlite, cells: all.filter((_, n) => n % one === 0) },
])(
  "$cells.length cells of verbs, states and options, and of two verbs at once, on $name",
  { timeout: 3_600_000 },
  async ({ name, open, cells }) => {
    const { unexplained, codes, ...tally } = await playAll(cells, open);
    console.log(`pairs on ${name}:`, tally, codes);
    expect(unexplained).toEqual([]);
  },
);
