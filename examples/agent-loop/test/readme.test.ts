import { codeInReadme } from "example-llm/readme";
import { expect, test } from "vitest";

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("agent-loop", "agent.ts");
  expect(block.split("\n").length).toBeLessThanOrEqual(16);
  expect(source).toContain(block);
});
