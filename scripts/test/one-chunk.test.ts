/** Built files import their shared code once, by name: bundlers of users warn about imports without names. */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { bundleEntries } from "../lib/bundle.ts";

const dir = mkdtempSync(join(tmpdir(), "durable-chunks-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Made {
  readonly mid: (text: string) => string;
  readonly three: string;
}

/** Every entry shares something with every other one. */
const sources = {
  "low.ts": "export const low = (text: string): string => text.toLowerCase();",
  "mid.ts": 'import { low } from "./low.ts"; export const mid = (text: string): string => low(text) + "!";',
  "index.ts": 'export { mid } from "./mid.ts";',
  "two.ts": 'export { low } from "./low.ts";',
  "three.ts":
    'import { low } from "./low.ts"; export { mid } from "./mid.ts"; export const three = low("T");',
};

test("a program of all entries is bundled without a warning, and gives what it should", async () => {
  mkdirSync(join(dir, "src"));
  for (const [file, text] of Object.entries(sources)) writeFileSync(join(dir, "src", file), text);
  const entry = (name: string) => ({ default: `./dist/${name}.js` });
  const exports = { ".": entry("index"), "./two": entry("two"), "./three": entry("three") };
  const manifest = { name: "parts", version: "1.0.0", type: "module", sideEffects: false, exports };
  writeFileSync(join(dir, "package.json"), JSON.stringify(manifest));
  const dist = join(dir, "dist");
  await bundleEntries({ dir, manifest }, dist);

  const files = globSync("*.js", { cwd: dist });
  expect(files.toSorted()).toEqual(["index.js", "three.js", "two.js"]);
  for (const file of files)
    expect(readFileSync(join(dist, file), "utf8").match(/^import/gm), file).toHaveLength(1);
  const contents = files.map((file) => `export * from "./dist/${file}";`).join("\n");
  const { warnings, outputFiles } = await build({
    stdin: { contents, resolveDir: dir },
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "silent",
  });
  expect(warnings.map(({ text }) => text)).toEqual([]);
  const code = `data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? "")}`;
  const made = (await import(/* @vite-ignore */ code)) as Made;
  expect([made.mid("A"), made.three]).toEqual(["a!", "t"]);
});
