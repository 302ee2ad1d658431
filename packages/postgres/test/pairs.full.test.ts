import { expect, test } from "vitest";
import { pairs, sampleOf, singles } from "../../core/test/pairs/cells.ts";
import { playAll } from "../../core/test/pairs/judge.ts";
import type { Open } from "../../core/test/pairs/stage.ts";
import { openSchema } from "./support/open.ts";

// The server is that of inject("postgres"). The same on memory and SQLite: packages/core/test/pairs/pairs.full.test.ts.
const onPostgres: Open = (world) => {
  const { open, close } = openSchema();
  const now = (): number => world.now();
  return { storage: open({ now, listen: false }), another: open({ now, listen: false }), close };
};

test(
  "verbs, states and options, and every two verbs at once, on Postgres",
  { timeout: 3_600_000 },
  async () => {
    const cells = [...sampleOf(singles(), 150, 2), ...sampleOf(pairs(), 150, 3)];
    const { unexplained, codes, ...tally } = await playAll(cells, onPostgres);
    console.log("pairs on Postgres:", tally, codes);
    expect(unexplained).toEqual([]);
  },
);
