/** A writer of the storage without the key edits what is beside the journals: no run, cancel, input or answer comes of it. */

import { expect, inject, test } from "vitest";
import { editRows, use } from "./support/row-edits.ts";
import { prepare, withApp } from "./support/row-scene.ts";
import { bucketStage, otherKinds, otherTexts, sqliteStage } from "./support/row-stages.ts";

const full = inject("full");

test.each([
  ["rows of SQLite", sqliteStage, full ? 300 : 40],
  ["objects of a bucket", bucketStage, full ? 300 : 60],
] as const)("random edits of %s make nothing that the app did not make", async (_, stage, count) => {
  const { tried, ends, problems } = await editRows(stage(), { count, seed: 1 });
  expect(problems).toEqual([]);
  expect(tried).toBe(count);
  // Some are refused, and some change nothing that matters.
  for (const end of ["unseen", "warned"]) expect(ends[end] ?? 0, end).toBeGreaterThan(0);
  expect(Object.keys(ends).length).toBeGreaterThan(2);
});

test.each([
  ["a state or a head with a member of another kind", otherKinds],
  ["an object with the text of another kind", otherTexts],
] as const)("%s in a bucket is refused, or makes no difference", async (_, edited) => {
  const problems: string[] = [];
  const codes = new Set<string>();
  let tried = 0;
  for await (const { edit, stage } of edited((of) => withApp(of.open(), prepare))) {
    const done = await use(stage);
    tried += 1;
    problems.push(...done.found.map((problem) => `${edit}: ${problem}`));
    for (const code of done.codes) codes.add(code);
  }
  expect(problems).toEqual([]);
  expect(tried).toBeGreaterThan(50);
  expect(codes).toContain("corrupt");
});
