/** The page is small enough to be part of every exported run. */

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../page/bundle.ts";

test("the page has at most 120 kB gzipped, and loads nothing from elsewhere", async () => {
  const { script, style } = await bundle();
  const size = gzipSync(script).length + gzipSync(style).length;
  expect(size).toBeLessThan(120_000);
  // It works, so it is not empty.
  expect(size).toBeGreaterThan(20_000);
  expect(style).not.toMatch(/url\(|@import/);
  // The namespace of SVG is a name, not an address.
  expect(script.match(/https?:\/\/[\w.-]+/g) ?? []).toEqual(
    expect.not.arrayContaining([expect.not.stringContaining("www.w3.org")]),
  );
});
