/** docs/errors.md lists the codes with which the chat refuses requests. */

import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const textOf = (path: string): string => readFileSync(`${root}/${path}`, "utf8");

test("the page of errors has every code of the chat, and no other", () => {
  const sources = globSync("packages/ai-sdk/src/chat/*.ts", { cwd: root }).map(textOf).join("\n");
  const codes = [...sources.matchAll(/\bcode: "([a-z-]+)"/g)].map(([, code = ""]) => code);
  const [, page = ""] = textOf("docs/errors.md").split("\n## The chat\n");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(rows)).toEqual(new Set(codes));
  expect(rows).toHaveLength(new Set(rows).size);
});
