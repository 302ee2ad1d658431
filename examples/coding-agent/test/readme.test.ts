import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const lines = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n");

test("the code in the README is the code", () => {
  const [, block = ""] = /```ts\n([^]*?)```/.exec(read("../README.md")) ?? [];
  expect(block.split("\n").length).toBeGreaterThan(5);
  expect(lines(read("../src/agent.ts"))).toContain(lines(block));
});
