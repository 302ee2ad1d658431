/** What the resume of a long conversation costs in a process that has just begun, as an isolate of a Worker has. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "durable-long-chat-"));
const program = join(folder, "bench-chat.mjs");

// One file, as a Worker is: a process that strips types from sources is warm before it begins.
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL("bench-chat.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["durable-source"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [program, ...args], { encoding: "utf8" }).trim();

interface Parked {
  readonly turns: string;
  readonly at: string;
  readonly token: string;
}

function park(turns: number): Parked {
  const at = join(folder, String(turns));
  return { turns: String(turns), at, token: run(String(turns), "park", at) };
}

test("turn 300 costs at most three times the CPU of turn 30", { timeout: 600_000 }, () => {
  const [short, long] = [park(30), park(300)];
  // Side by side, and the least of each: other programs only add to a figure.
  const ratioOf = (what: string, rounds: number): number => {
    const cpu = ({ turns, at, token }: Parked): number => Number(run(turns, what, at, token));
    let [few, many] = [Infinity, Infinity];
    for (let round = 0; round < rounds; round++) {
      few = Math.min(few, cpu(short));
      many = Math.min(many, cpu(long));
    }
    console.log(`${what}: ${few.toFixed(0)} ms at turn 30, ${many.toFixed(0)} ms at turn 300`);
    return many / few;
  };
  expect(ratioOf("process", 5), "of a process that begins, answers and ends").toBeLessThanOrEqual(3);
  // What is left is replay by the SDK and by this library. It was 39 when each call encoded its whole prompt.
  expect(ratioOf("fresh", 5), "of the answer alone, for ten times the turns").toBeLessThan(5);
});
