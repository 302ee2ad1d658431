import { copyRuns } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { contentOf, house, unordered, type Kind } from "./support/houses.ts";
import { effects, entriesOf, finish, moveIn, sealed, testWorld } from "./support/residents.ts";

const kinds: readonly Kind[] = ["memory", "sqlite", "folder"];
const full = inject("full");
/** Where they finish in the sample; the round trip of the sealed ones ends in memory. */
const sample: Record<"plain" | "sealed", readonly Kind[]> = { plain: ["sqlite", "folder"], sealed: [] };
const nothing = { runs: 0, batches: 0, bytes: 0, refused: [], active: [] };

describe.each([
  ["plain", {}],
  ["sealed", sealed],
] as const)("runs that wait before a move (%s)", (name, more) => {
  test.each(full ? kinds : sample[name])("finish after it, with their old tokens, in %s", async (kind) => {
    const world = testWorld();
    const [old, home] = [house(kind === "sqlite" ? "folder" : "sqlite", world), house(kind, world)];
    const residents = await moveIn(old.storage, world, more);
    effects.length = 0;
    const copied = await copyRuns(old.reopen(), home.storage, { readBack: home.reopen() });
    expect(copied).toMatchObject({ runs: 13, skipped: 0, refused: [], active: [] });
    const { found, expected } = await finish(residents, home.reopen(), world, more);
    expect(found).toEqual(expected);
    expect(effects, "no recorded step ran again").toEqual([]);
  });

  test.runIf(full || name === "sealed")(
    "are the same in every storage of a round trip, and a second copy finds nothing new",
    async () => {
      const world = testWorld();
      const [first, ...others] = [...kinds, "memory" as const].map((kind) => house(kind, world));
      const residents = await moveIn(first!.storage, world, more);
      const content = unordered(await contentOf(first!.storage));
      const entries = await entriesOf(first!.storage, world, more);
      let from = first!;
      for (const next of others) {
        await copyRuns(from.reopen(), next.storage);
        expect(unordered(await contentOf(next.reopen()))).toEqual(content);
        expect(await entriesOf(next.reopen(), world, more)).toEqual(entries);
        expect(await copyRuns(from.reopen(), next.reopen())).toMatchObject({ ...nothing, skipped: 13 });
        from = next;
      }
      const { found, expected } = await finish(residents, from.storage, world, more);
      expect(found).toEqual(expected);
    },
  );
});
