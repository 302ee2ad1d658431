import { expect, inject, test } from "vitest";
import { loseBatches } from "./support/lost-batches.ts";

test("runs go on behind run.regressed when their storage has lost its last batches", async () => {
  const seeds = inject("full") ? 2_000 : 150;
  for (let seed = 1; seed <= seeds; seed++) expect(await loseBatches(seed)).toEqual([]);
}, 300_000);
