/** The built kit finds the same with source maps, which give its frames the names of sources that are not there. */

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** A project below a folder that git ignores, so that the other packages are found. */
const project = at(`../../../dist/kit-${process.pid}`);
const kit = `${project}/node_modules/@durable/testing`;

const program = `import { durable } from "@durable/core";
import { crashEverywhere } from "@durable/testing";
let passes = 0;
const flow = durable("reads", async (ctx) => {
  if (Math.random() > 2) return;
  if (new Date().getTime() < 0) return;
  if (Date.now() < 0) return;
  passes += 1;
  await ctx.step(passes % 2 === 0 ? "even" : "odd", () => Date.now());
});
const report = await crashEverywhere(flow, { throws: false, compare: false });
const order = report.calm.problems.find(({ check }) => check === "order");
console.log(JSON.stringify([report.ambient, order.text]));
`;

beforeAll(async () => {
  await build({
    entryPoints: [at("../src/index.ts")],
    outfile: `${kit}/dist/index.js`,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    sourcemap: "linked",
    logLevel: "error",
  });
  const manifest = { name: "@durable/testing", type: "module", exports: "./dist/index.js" };
  writeFileSync(`${kit}/package.json`, JSON.stringify(manifest));
  mkdirSync(`${project}/src`);
  writeFileSync(`${project}/package.json`, '{ "type": "module" }');
  writeFileSync(`${project}/src/flow.ts`, program);
});

afterAll(() => rmSync(project, { recursive: true }));

test.each([[[]], [["--enable-source-maps"]]])("clocks, chance and order, with %j", (flags) => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=durable-source", ...flags, "src/flow.ts"],
    { cwd: project, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([
    [
      { name: "Math.random", at: "src/flow.ts:5" },
      { name: "new Date", at: "src/flow.ts:6" },
      { name: "Date.now", at: "src/flow.ts:7" },
    ],
    expect.stringMatching(/^call 1 is step (odd|even) \(src\/flow\.ts:9\) in one pass and step/),
  ]);
});
