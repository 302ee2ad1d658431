import { expect, test } from "vitest";
import { pairsPage } from "./table.ts";

// `npm run docs:pairs` writes the page.
test("the page of pairs says what the model promises", async () => {
  await expect(pairsPage()).toMatchFileSnapshot(
    new URL("../../../../docs/internals/pairs.md", import.meta.url).pathname,
  );
});
