import { expect, test } from "vitest";
import { options, pairs, sampleOf, singles, states, verbs } from "./cells.ts";
import { playAll } from "./judge.ts";
import { onMemory, onSqlite } from "./storages.ts";

// All cells: pairs.full.test.ts.
test.each([
  ["memory", onMemory, 20, 1],
  ["SQLite", onSqlite, 4, 5],
] as const)(
  "a sample of verbs, states and options on %s is what users are promised",
  { timeout: 600_000 },
  async (_name, open, count, seed) => {
    const cells = [...sampleOf(singles(), count, seed), ...sampleOf(pairs(), count, seed)];
    const { unexplained } = await playAll(cells, open);
    expect(unexplained).toEqual([]);
  },
);

test("every verb meets every state under every option, and every other verb in both orders in every state (cells.1, cells.2)", () => {
  const seen = (given: readonly string[]): number => new Set(given).size;
  const ones = singles().map(({ verbs: [verb], state, option }) => `${verb} ${state} ${option}`);
  expect([seen(ones), ones.length]).toEqual([verbs.length * states.length * options.length, ones.length]);
  const all = pairs();
  expect(seen(all.map((cell) => `${cell.verbs.join()} ${cell.state}`))).toBe(
    verbs.length ** 2 * states.length,
  );
  expect(seen(all.map(({ state, option }) => `${state} ${option}`))).toBe(states.length * options.length);
  for (const side of [0, 1] as const)
    expect(seen(all.map((cell) => `${cell.verbs[side]} ${cell.option}`))).toBe(verbs.length * options.length);
});
