/**
 * What README.md, docs/comparison.md and the guide of the client state in figures, against the sources of the figures. The
 * size of an install is compared by `npm run packages:check`, which has the packed files.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import type { Report } from "../../bench/src/report/report.ts";
import { withSection } from "../../bench/src/report/section.ts";
import { oldNodes } from "../lib/consumer-matrix.ts";
import { readPage } from "../lib/markdown.ts";
import { type Manifest, publishedPackages, root } from "../lib/workspace.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const comparison = read("docs/comparison.md");

/** The first group of a pattern that a page must contain. */
function stated(page: string, pattern: RegExp): string {
  const found = pattern.exec(page)?.[1];
  if (found === undefined)
    throw new Error(`The page does not say ${pattern}. Change this test with the page.`);
  return found;
}

test("the README is read in a few minutes", () => {
  const { words } = readPage(readme);
  // Without code and tables' marks; about 900 with the commands.
  expect(words).toBeGreaterThan(600);
  expect(words).toBeLessThanOrEqual(900);
});

test("version and Node are those of the packages", () => {
  const { version = "" } = JSON.parse(read("packages/core/package.json")) as Manifest;
  expect(version.startsWith(`${stated(readme, /^Version (\d+\.\d+)/m)}.`)).toBe(true);
  expect(stated(comparison, /version (\d+\.\d+) \|/)).toBe(stated(readme, /^Version (\d+\.\d+)/m));
  // The oldest Node that the program of the README is tried with.
  expect(oldNodes["linux-x64"]?.[1]).toBe(`${stated(readme, /# Node (\d+\.\d+) or newer/)}.0`);
});

test("what has no dependencies has none", () => {
  const core = publishedPackages().find(({ manifest }) => manifest.name === "@durable/core")?.manifest;
  expect(readme).toContain("core has no dependencies");
  expect([core?.dependencies, core?.peerDependencies, core?.optionalDependencies]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(stated(comparison, /^\| durable \| (\d+) \|/m)).toBe("1");
});

test("the tables of the comparison are those of the report that they name", () => {
  const name = stated(comparison, /npm run bench -- [^`]*--name ([\w-]+)/);
  const report = JSON.parse(read(`bench/results/${name}.json`)) as Report;
  expect(withSection(comparison, report, name)).toBe(comparison);
  expect(existsSync(join(root, "bench/results", `${name}.md`))).toBe(true);
});

test("the report is the newest of all workloads and systems in bench/results", () => {
  const whole = globSync("bench/results/*.json", { cwd: root })
    .map((file) => ({ name: basename(file, ".json"), report: JSON.parse(read(file)) as Partial<Report> }))
    // A curve has no cells, and others are of some workloads or systems, or of small sizes.
    .filter(({ report }) => report.cells !== undefined && report.divide === 1)
    .filter(({ report }) => !/--(?:only|subjects)\b/.test(report.command ?? ""))
    .toSorted(
      (a, b) => (a.report.date ?? "").localeCompare(b.report.date ?? "") || a.name.localeCompare(b.name),
    );
  expect(whole.at(-1)?.name).toBe(stated(comparison, /npm run bench -- [^`]*--name ([\w-]+)/));
});

test("no page states a number of tests, which changes every day", () => {
  for (const page of [readme, comparison]) expect(page).not.toMatch(/\d[\d,]* (unit )?tests\b/);
});

test("the weight of the typed client", async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export { createClient } from "@durable/http/client";', resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const kilobytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length / 1_000;
  const said = Number(stated(read("docs/guides/integrate/typed-client.md"), /It is (\d+) kB\s+gzipped/));
  expect(Math.round(kilobytes)).toBe(said);
});
