import { codeInReadme } from "example-llm/readme";
import { expect, test } from "vitest";

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("loan-underwriting", "loan.ts");
  expect(block.split("\n").length).toBeGreaterThan(10);
  expect(source).toContain(block);
});
