/** A writer of the tables without the key edits what is beside the journals: no run, cancel, input or answer comes of it. */

import { expect, inject, test } from "vitest";
import { editRows } from "../../core/test/journal/support/row-edits.ts";
import { freshSchema } from "./support/open.ts";
import { postgresStage } from "./support/row-stage.ts";

test("random edits of tables of Postgres make nothing that the app did not make", async () => {
  const stage = postgresStage(inject("postgres"), freshSchema());
  const { tried, ends, problems } = await editRows(stage, { count: 200, seed: 1 });
  expect(problems).toEqual([]);
  expect(tried).toBe(200);
  // Some are refused, and some change nothing that matters.
  for (const end of ["unseen", "warned"]) expect(ends[end] ?? 0, end).toBeGreaterThan(0);
});
