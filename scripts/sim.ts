/**
 * Runs one simulation, or a few, and shows what happened:
 *
 *     npm run sim -- --seed 538              one seed; a failure is cut down to its shortest history
 *     npm run sim -- --seed 538 --trace      every event of it, failure or not
 *     npm run sim -- --seed 1 --seeds 1000   a thousand seeds from 1 on
 *     npm run sim -- --plan case.json        a plan that was written down
 *     npm run sim -- --seed 538 --remote     on journals in a bucket; a failure is shown as it is
 *     npm run sim -- --seed 538 --save "what it found"   adds the shortest plan to the regressions
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  describeTree,
  describeViolations,
  eventTable,
  shrink,
  simulate,
  type Simulation,
  type SimulationPlan,
} from "../packages/simulator/src/index.ts";
import { handles } from "../packages/simulator/test/support/sim-remote.ts";

/** Plans that once failed, run with every test. */
const regressionsFile = new URL("../packages/simulator/test/sim-regressions.json", import.meta.url);

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    plan: { type: "string" },
    trace: { type: "boolean", default: false },
    save: { type: "string" },
    remote: { type: "boolean", default: false },
  },
});
const first = Number(values.seed);
const count = Number(values.seeds);
if (!Number.isInteger(first) || !Number.isInteger(count)) {
  console.error("sim: --seed and --seeds are whole numbers (a seed may be written as 0x1a2b)");
  process.exit(2);
}
const given =
  values.plan === undefined ? null : (JSON.parse(readFileSync(values.plan, "utf8")) as SimulationPlan);

let failed: Simulation | null = null;
for (let seed = first; seed < first + count && failed === null; seed++) {
  const simulation = await simulate({
    seed,
    trace: values.trace || values.remote,
    ...(values.remote ? { open: handles } : {}),
    ...(given === null ? {} : { plan: given }),
  });
  if (values.trace) console.log(eventTable(simulation));
  if (simulation.violations.length > 0) failed = simulation;
  else if (count === 1) console.log(summary(simulation));
}
if (failed === null) {
  if (count > 1) console.log(`sim: ${count} seeds from ${first} on, no violation`);
} else {
  process.exitCode = 1;
  // What is shorter is sought on the storage that all seeds run on.
  if (values.remote) console.log(`${describeViolations(failed.violations)}\n${eventTable(failed)}`);
  else await report(failed);
}

function summary({ plan, events, faults, runs, bodies }: Simulation): string {
  const counts = [
    some(runs, "run"),
    `${bodies} ${bodies === 1 ? "body" : "bodies"}`,
    some(faults.length, "fault"),
    some(events, "event"),
  ];
  return `sim: seed ${plan.seed}: no violation; ${counts.join(", ")}`;
}

function some(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

async function report(simulation: Simulation): Promise<void> {
  const { seed } = simulation.plan;
  console.log(`SIM FAIL seed ${seed}`);
  console.log(describeViolations(simulation.violations));
  const tty = process.stdout.isTTY;
  const {
    plan,
    simulation: last,
    tries,
  } = await shrink(simulation, {
    progress: (done, { only, actions }) => {
      if (tty)
        process.stdout.write(
          `\rshrinking: ${done} tries, ${only?.length ?? 0} faults, ${actions.length} actions  `,
        );
    },
  });
  console.log(`${tty ? "\r" : ""}The shortest history found, in ${tries} tries:\n`);
  for (const flow of plan.flows) console.log(`${flow.name}:\n${describeTree(flow.tree, "  ")}`);
  console.log(`\n${eventTable(last)}\n`);
  console.log(describeViolations(last.violations));
  console.log(`\n  npm run sim -- --seed ${seed}`);
  if (values.save === undefined) {
    console.log(`  npm run sim -- --seed ${seed} --save "what it found"   keeps it as a regression\n`);
    return;
  }
  const list = JSON.parse(readFileSync(regressionsFile, "utf8")) as unknown[];
  list.push({ found: values.save, invariant: last.violations[0]?.invariant, plan });
  writeFileSync(regressionsFile, `${JSON.stringify(list, null, 1)}\n`);
  console.log(`  kept as regression ${list.length}\n`);
}
