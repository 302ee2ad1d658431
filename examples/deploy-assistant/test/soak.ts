/**
 * A crowd of conversations while the servers are killed:
 *
 *     npm run soak:deploy -- --people 200 --kills 10 --seed 7
 */

import { parseArgs } from "node:util";
import { killDemos } from "example-llm/process";
import { crowd } from "./support/crowd.ts";

const { values } = parseArgs({
  options: {
    people: { type: "string", default: "200" },
    kills: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [people, kills, seed] = [Number(values.people), Number(values.kills), Number(values.seed)];
if (![people, kills, seed].every(Number.isInteger)) {
  console.error("soak:deploy: --people, --kills and --seed are whole numbers");
  process.exit(1);
}

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

let shown = "";

/** One line that is written over where there is a screen. */
function show(text: string): void {
  if (text === shown) return;
  shown = text;
  if (process.stdout.isTTY) process.stdout.write(`\r\u001B[K${text}`);
  else console.log(text);
}

try {
  const report = await crowd({ people, kills, seed, progress: show });
  console.log(`\nended as asked: ${listed(report.endings)}`);
  console.log(
    `requests:       ${listed(report.statuses)}; ${report.cutOff} cut off by a kill and sent again`,
  );
  console.log(
    `mails:          ${report.mails} sent, ${report.sentAgain} of them again, each under its first token`,
  );
  console.log(
    `soak:deploy: ${people} conversations with 2 servers and ${report.kills} kills in ${report.seconds} s; all ended as their replies say (seed ${seed})`,
  );
} catch (error) {
  killDemos();
  console.error(`\nsoak:deploy: FAILED with seed ${seed}:`, error);
  process.exitCode = 1;
}
