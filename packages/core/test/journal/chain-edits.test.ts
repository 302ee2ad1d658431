import { expect, inject, test } from "vitest";
import { hostileEdits } from "./support/hostile-edits.ts";

const count = inject("full") ? 10_000 : 500;

test(`H68 ${count} random edits of sealed journals: each is refused, or nobody sees a difference`, async () => {
  const { refused, unseen, earlier, accepted } = await hostileEdits(count, 1);
  expect(accepted).toEqual([]);
  expect(refused).toBeGreaterThan(count * 0.8);
  expect(refused + unseen + earlier).toBeGreaterThanOrEqual(count);
});
