import { expect, inject, test } from "vitest";
import { cutAppends } from "./support/ambiguous.ts";
import { freshSchema } from "./support/open.ts";

// A sample of what `npm run soak:postgres` does 1,000 times.
const cuts = inject("full") ? 200 : 10;

test(`H14 an append whose outcome is unknown is settled by its write id, ${cuts} times (law 8)`, async () => {
  const report = await cutAppends({ url: inject("postgres"), schema: freshSchema(), cuts });
  expect(report).toMatchObject({ doubled: 0, lost: 0, unfinished: 0 });
  // A cut connection may have carried more than one append.
  expect(report.unknown).toBeGreaterThanOrEqual(cuts);
  expect(report.landed).toBeGreaterThan(0);
  expect(report.missed).toBeGreaterThan(0);
});
