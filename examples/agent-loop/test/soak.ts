/**
 * Kills the demo a given number of times:
 *
 *     npm run soak:agent -- --kills 50 --seed 7
 */

import { parseArgs } from "node:util";
import { killDemos } from "example-llm/process";
import { killDemo, type KillReport } from "./support/kills.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "50" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (![kills, seed].every(Number.isInteger)) {
  console.error("soak:agent: --kills and --seed are whole numbers");
  process.exit(1);
}

const text = (report: KillReport): string =>
  `${report.kills}/${kills} kills in ${report.lives} lives of ${report.runs} runs, ${report.reused} steps reused, ${report.repeated} cut off and repeated`;

/** One line that is written over where there is a screen. */
function show(report: KillReport): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text(report)}`);
  else console.log(text(report));
}

try {
  const report = await killDemo({ kills, seed, progress: show });
  console.log(`\nsoak:agent: ${text(report)}; one answer, and nothing recorded ran again (seed ${seed})`);
} catch (error) {
  killDemos();
  console.error(`\nsoak:agent: FAILED with seed ${seed}:`, error);
  process.exitCode = 1;
}
