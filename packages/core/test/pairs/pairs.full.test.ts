import { expect, test } from "vitest";
import { pairs, singles } from "./cells.ts";
import { playAll } from "./judge.ts";
import { onMemory } from "./storages.ts";

// A small sample, on memory and SQLite: pairs.test.ts.
test(
  "every verb in every state under every option, and every two at once",
  { timeout: 3_600_000 },
  async () => {
    const { unexplained, codes, ...tally } = await playAll([...singles(), ...pairs()], onMemory);
    console.log("pairs on memory:", tally, codes);
    expect(unexplained).toEqual([]);
  },
);
