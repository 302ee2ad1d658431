/**
 * Kills the agent at the given number of instants, spread over its whole run:
 *
 *     npm run soak:ai -- --kills 30
 */

import { parseArgs } from "node:util";
import { ideal, killAll, killAt } from "./support/kills.ts";

const { values } = parseArgs({ options: { kills: { type: "string", default: "30" } } });
const kills = Number(values.kills);
if (!Number.isInteger(kills) || kills < 1) {
  console.error("soak:ai: --kills is a whole number");
  process.exit(1);
}

try {
  const calm = await killAt(0);
  const totals = { killed: 0, calls: 0, requests: 0, reused: 0 };
  for (let i = 0; i < kills; i++) {
    // The last instant is the last event of the last answer.
    const instant = 1 + Math.floor((i * (calm.instants - 1)) / Math.max(1, kills - 1));
    const one = await killAt(instant);
    totals.killed += Number(one.killed);
    totals.calls += one.calls - ideal.calls;
    totals.requests += one.requests - ideal.effects;
    totals.reused += one.reused;
    console.log(`instant ${instant} of ${calm.instants}: ${JSON.stringify(one)}`);
  }
  console.log(
    `soak:ai: ${totals.killed} kills, ${totals.calls} calls and ${totals.requests} requests of tools more than without, ${totals.reused} recorded steps reused; each effect once, no recorded tool ran again`,
  );
} catch (error) {
  killAll();
  console.error("soak:ai: FAILED:", error);
  process.exitCode = 1;
}
