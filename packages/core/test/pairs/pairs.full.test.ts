import { expect, test } from "vitest";
import { pairs, singles } from "./cells.ts";
import { playAll } from "./judge.ts";
import { onMemory, onSqlite } from "./storages.ts";

// A sample: pairs.test.ts. On Postgres: packages/postgres/test/pairs.full.test.ts.
test.each([
  ["memory", onMemory],
  ["SQLite", onSqlite],
])(
  "every verb in every state under every option, and every two at once, on %s",
  { timeout: 3_600_000 },
  async (name, open) => {
    const { unexplained, codes, ...tally } = await playAll([...singles(), ...pairs()], open);
    console.log(`pairs on ${name}:`, tally, codes);
    expect(unexplained).toEqual([]);
  },
);
