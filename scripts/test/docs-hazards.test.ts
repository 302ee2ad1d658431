import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkHazards } from "../lib/docs-hazards.ts";
import { readPages } from "../lib/docs-pages.ts";
import { root } from "../lib/workspace.ts";

/** Titles in this file are read by the check as well: those it invents are put together. */
const h = String("H");
const row = (number: number, files = ""): string => `| ${number} | words | ${files} |`;
const rows = Array.from({ length: 61 }, (_, n) => row(n + 1));
const link = "[a](../../packages/core/test/a.test.ts)";
const withLinks = rows
  .with(6, row(7, link))
  .with(16, row(17, "[d](../../packages/testing/src/conformance/d.ts)"));

/** A page and titles that agree; each test breaks one thing. */
const sound: Record<string, string> = {
  "docs/internals/hazards.md": withLinks.join("\n"),
  "packages/core/test/a.test.ts": `test.each([1])(\n  "${h}7 and %s (${h}8)", () => {});\nexpect(1, "${h}70").toBe(1);\n`,
  "packages/testing/src/conformance/d.ts": `export const checks = {\n  "deletes (${h}17)": async () => {},\n};\n`,
};

function check(changes: Record<string, string> = {}): string[] {
  const base = mkdtempSync(join(tmpdir(), "durable-hazards-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ ...sound, ...changes })) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return checkHazards(base, readPages(base)).map(({ file, line, message }) => `${file}:${line} ${message}`);
}

describe("the page of hazards", () => {
  it("accepts a page that agrees with the titles, and a repository without one", () => {
    expect(check()).toEqual([]);
    expect(checkHazards(tmpdir(), new Map())).toEqual([]);
  });

  it("D7: a hazard without a row, one with two, and a title that cites one the page does not have", () => {
    expect(check({ "docs/internals/hazards.md": withLinks.slice(0, -1).join("\n") })).toEqual([
      "docs/internals/hazards.md:1 H61 has no row",
    ]);
    expect(check({ "docs/internals/hazards.md": [...withLinks, row(3)].join("\n") })).toEqual([
      "docs/internals/hazards.md:62 H3 has a row on line 3 already",
    ]);
    expect(check({ "examples/x/test/b.test.ts": `it("${h}66 of the dashboard", () => {});` })).toEqual([
      "docs/internals/hazards.md:1 examples/x/test/b.test.ts cites H66, which has no row",
    ]);
  });

  it("D8: a row whose file has no such title, in a suite and in the contract of storages", () => {
    expect(check({ "docs/internals/hazards.md": withLinks.with(0, row(1, link)).join("\n") })).toEqual([
      "docs/internals/hazards.md:1 no test title in packages/core/test/a.test.ts cites H1",
    ]);
    expect(check({ "packages/testing/src/conformance/d.ts": `// ${h}17 in a comment only` })).toEqual([
      "docs/internals/hazards.md:17 no test title in packages/testing/src/conformance/d.ts cites H17",
    ]);
  });

  it("D9: a known fault that no test expects any more, and one that the page does not tell of", () => {
    const told = { "docs/internals/hazards.md": [...withLinks, `| H7, ${link} | why |`].join("\n") };
    const fails = { "packages/core/test/a.test.ts": `test.fails("${h}7 not yet (${h}9)", () => {});` };
    expect(check({ ...told, ...fails })).toEqual([]);
    expect(check(told)).toEqual([
      "docs/internals/hazards.md:62 no test in packages/core/test/a.test.ts is expected to fail for H7 (any more)",
    ]);
    expect(check(fails)).toEqual([
      "docs/internals/hazards.md:1 packages/core/test/a.test.ts expects a test of H7 to fail, and no row says why",
    ]);
  });

  it("is kept in this repository", () => {
    expect(checkHazards(root, readPages(root))).toEqual([]);
  });
});
