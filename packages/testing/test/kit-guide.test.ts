/** The worked example of the guide: its report matches what the code prints, with the bug and without. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const guide = readFileSync(at("../../../docs/guides/test/testing-workflows.md"), "utf8");
const block = (info: string, having: string): string =>
  guide
    .split(`\`\`\`${info}\n`)
    .find((text) => text.startsWith(having))
    ?.split("\n```")[0] ?? "";
const border = "-- the next program --";
const masked = (text: string): string => text.replaceAll(/\d+\.\d s/g, "0.6 s");

/** What programs print, run from a folder that git ignores: one after the other, in one process. */
function printed(...programs: readonly string[]): string[] {
  const folder = at(`../../../dist/guide-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    for (const [n, code] of programs.entries()) {
      mkdirSync(`${folder}/${n}`);
      writeFileSync(`${folder}/${n}/refund.ts`, code);
    }
    const imports = programs.map((_, n) => `await import("./${n}/refund.ts");`);
    writeFileSync(`${folder}/all.ts`, imports.join(`\nconsole.log("${border}");\n`));
    const env = { ...process.env, FORCE_COLOR: "0" };
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--conditions=durable-source", `${folder}/all.ts`],
      { encoding: "utf8", env },
    );
    if (status !== 0) throw new Error(stderr);
    return stdout.split(`${border}\n`).map((text) => masked(text.trimEnd()));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A run block of the guide, by a line in it, and the text block that follows. */
function shownBy(line: string): { readonly code: string; readonly text: string } {
  const [code = "", ...rest] = (guide.split("```ts run\n").find((part) => part.includes(line)) ?? "").split(
    "\n```\n",
  );
  return { code, text: rest.join("\n```\n").split("```text\n")[1]?.split("\n```")[0] ?? "" };
}

test("the guide shows what explore prints, with and without a finding", () => {
  const calm = shownBy("await explore(refund");
  const found = shownBy("await explore(raffle");
  const [numbers, message] = printed(calm.code, found.code);
  expect(numbers).toBe(calm.text);
  // Tickets are drawn by Math.random, and how far a history is shortened depends on the machine.
  const shape = (text = ""): string => {
    const head = text.split("The shortest history found:")[0] ?? "";
    return head.replaceAll(/with \d+/g, "with a ticket").replace(/run run-\d/, "run run-0");
  };
  expect(shape(message)).toBe(shape(found.text));
});

test.runIf(inject("full"))(
  "the guide shows what its refund prints, and what is left once it is fixed",
  () => {
    const code = block("ts run", "import { durable");
    const [worse = "", better = ""] = block("diff", "- ")
      .split("\n")
      .map((line) => line.slice(2));
    expect(code).toContain(worse);
    const [wrong, fixed] = printed(code, code.replace(worse, better));
    expect(wrong).toBe(masked(block("text", "refund: 1 of")));
    expect(fixed).toContain(masked(block("text", "refund: all")));
  },
);
