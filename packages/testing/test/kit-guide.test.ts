/** The worked example of the guide: its report matches what the code prints, with the bug and without. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const guide = readFileSync(at("../../../docs/guides/test/testing-workflows.md"), "utf8");
const block = (info: string, having: string): string =>
  guide
    .split(`\`\`\`${info}\n`)
    .find((text) => text.startsWith(having))
    ?.split("\n```")[0] ?? "";
const masked = (text: string): string => text.replaceAll(/\d+\.\d s/g, "0.6 s");

/** What a program prints, run from a folder that git ignores. */
function printed(code: string): string {
  const folder = at(`../../../dist/guide-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(`${folder}/refund.ts`, code);
    const env = { ...process.env, FORCE_COLOR: "0" };
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--conditions=durable-source", `${folder}/refund.ts`],
      { encoding: "utf8", env },
    );
    if (status !== 0) throw new Error(stderr);
    return masked(stdout.trimEnd());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the guide shows what its refund prints, and what is left once it is fixed", () => {
  const code = block("ts run", "import { durable");
  const [worse = "", better = ""] = block("diff", "- ")
    .split("\n")
    .map((line) => line.slice(2));
  expect(code).toContain(worse);
  expect(printed(code)).toBe(masked(block("text", "refund: 1 of")));
  expect(printed(code.replace(worse, better))).toContain(masked(block("text", "refund: all")));
});
