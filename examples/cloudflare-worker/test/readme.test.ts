import { codeInReadme } from "example-llm/readme";
import { expect, test } from "vitest";

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("cloudflare-worker", "announcement.ts");
  expect(block.split("\n").length).toBeGreaterThan(5);
  expect(source).toContain(block);
});
