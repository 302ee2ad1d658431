/**
 * Kills the demo a given number of times:
 *
 *     npm run soak:coding -- --kills 30 --seed 7
 */

import { parseArgs } from "node:util";
import { killDemos } from "example-llm/process";
import { killDemo, type KillReport } from "./support/kills.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "30" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (![kills, seed].every(Number.isInteger)) {
  console.error("soak:coding: --kills and --seed are whole numbers");
  process.exit(1);
}

const text = (report: KillReport): string =>
  `${report.kills}/${kills} instants, ${report.lives} lives of ${report.runs} runs, ${report.planCalls} model calls for ${report.plans} plans (${report.cutOff} more cut off by a kill), ${report.reused} steps reused`;

/** One line that is written over where there is a screen. */
function show(report: KillReport): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text(report)}`);
  else console.log(text(report));
}

try {
  const report = await killDemo({ kills, seed, twice: 0.3, progress: show });
  console.log(`\nsoak:coding: ${text(report)}; one winner, and nothing recorded ran again (seed ${seed})`);
} catch (error) {
  killDemos();
  console.error(`\nsoak:coding: FAILED with seed ${seed}:`, error);
  process.exitCode = 1;
}
