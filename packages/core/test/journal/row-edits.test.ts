/** A writer of the storage without the key edits rows beside the journals: no run, cancel, input or answer comes of it. */

import { expect, inject, test } from "vitest";
import { rowEdits } from "./support/row-edits.ts";

test("random edits of rows make nothing that the app did not make", async () => {
  const count = inject("full") ? 500 : 40;
  const { tried, ends, problems } = await rowEdits({ count, seed: 1 });
  expect(problems).toEqual([]);
  expect(tried).toBe(count);
  // Some are refused, and some change nothing that matters.
  expect(Object.keys(ends).length).toBeGreaterThan(1);
});
